// Command demo shows bolt-local at work: two pods on a real bridge, in
// network namespaces of their own. It takes everything down again, also when
// it fails or is interrupted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted; everything is taken down again")
		}
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// run prepares the stage, plays the story, and clears the stage.
func run(ctx context.Context) (err error) {
	if err := prepare(ctx); err != nil {
		return err
	}
	s, err := newStage()
	defer func() { err = s.clear(err) }()
	if err != nil {
		return err
	}
	for _, scene := range story {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		heading(scene.title)
		if err := scene.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", scene.title, err)
		}
	}
	return nil
}

// Package engine moves a network from one form to the next, and keeps both in
// step meanwhile, while pods run and whoever knows the old form alone may run
// too. It knows forms (package form), none by name.
//
//	phase     reads  writes         changed by another
//	legacy    old    old            nothing to do
//	expand    old    old, then new  import old into new
//	switch    new    old, then new  import old into new
//	contract  new    new            the old form is shut; found open, step back to switch
//
// Since each call imports first, expand and switch then read the same.
//
// # Invariants
//
//   - The old form is written first and made durable first. So it is never
//     older than the new one, and where they differ it is right, whether a
//     process was killed between the two or another program has written.
//   - Each call looks at the old form first, under its lock.
//   - What has vanished from the old form was freed, unless the whole form was
//     replaced: then what both know counts, and nothing of this boot is lost.
//   - An entry with another mark than the recorded one is another's, also with
//     the same content.
//   - Only the phase's own steps and what is found change the phase. A target
//     that cannot be reached yet waits, and fails nothing.
package engine

package network

import (
	"errors"
	"os"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// expectCode checks that a plugin failed with the CNI error code.
func expectCode(t *testing.T, err error, code uint) {
	t.Helper()
	var e *types.Error
	switch {
	case err == nil:
		t.Errorf("no error, want one of code %d", code)
	case !errors.As(err, &e):
		t.Errorf("not the error of a plugin: %v", err)
	case e.Code != code:
		t.Errorf("error code %d (%v), want %d", e.Code, e, code)
	}
}

func TestStatusThroughTheBridge(t *testing.T) {
	n := newNode(t, lab.Bridge)
	ipam := n.ipam()
	ipam["ranges"] = [][]object{{{"subnet": "10.77.0.0/30"}}} // one address beside the gateway
	list := conflist(t, "small", bridge(ipam))

	if err := n.GetStatusNetworkList(t.Context(), list); err != nil {
		t.Errorf("STATUS before the first ADD: %v", err)
	}
	if _, err := os.Stat(n.dataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("STATUS made %s", n.dataDir)
	}

	web := newPod(t, "web")
	n.add(t, list, web)
	expectCode(t, n.GetStatusNetworkList(t.Context(), list), types.ErrPluginNotAvailable)

	ipam["statusIgnoresExhaustion"] = true
	lenient := conflist(t, "small", bridge(ipam))
	if err := n.GetStatusNetworkList(t.Context(), lenient); err != nil {
		t.Errorf("STATUS of a full network, told to ignore that: %v", err)
	}

	n.del(t, list, web)
	if err := n.GetStatusNetworkList(t.Context(), list); err != nil {
		t.Errorf("STATUS after DEL: %v", err)
	}
}

func TestAFullNetworkRefusesAPodWithTryAgainLater(t *testing.T) {
	n := newNode(t, lab.Bridge)
	ipam := n.ipam()
	ipam["ranges"] = [][]object{{{"subnet": "10.77.0.0/30"}}}
	list := conflist(t, "small", bridge(ipam))
	web, db := newPod(t, "web"), newPod(t, "db")
	n.add(t, list, web)

	_, err := n.AddPod(t.Context(), list, db.RuntimeConf)
	expectCode(t, err, types.ErrTryAgainLater)
	n.expectHeld(t, list.Name, web)
}

// The last resort of a full network: a DEL that never came would else keep it
// full for good.
func TestAFullNetworkTakesBackAnAddressWhoseNamespaceIsGone(t *testing.T) {
	if !testenv.InOwnProcesses(t, lab.Bridge, ipamType) {
		return
	}
	n := newNode(t, lab.Bridge)
	ipam := n.ipam()
	ipam["ranges"] = [][]object{{{"subnet": "10.77.0.0/30"}}}
	list := conflist(t, "small", bridge(ipam))
	web, db := newPod(t, "web"), newPod(t, "db")
	n.add(t, list, web)
	n.loseDEL(t, list, web)
	if err := n.GetStatusNetworkList(t.Context(), list); err != nil {
		t.Errorf("STATUS counts as taken what an ADD could take back: %v", err)
	}

	n.add(t, list, db)
	expectAddresses(t, db, "10.77.0.2/30")
	n.expectHeld(t, list.Name, db)
}

package ipam

import (
	"net"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

// routes reads ipam.routes, in full whatever the version of the configuration.
// Where the address of dst has host bits they are kept, as host-local keeps
// them.
func (d *decoder) routes(ipam object) []*types.Route {
	var routes []*types.Route
	for i, value := range d.list(ipam, "routes") {
		path := index(ipam.at("routes"), i)
		if value == nil {
			d.wrongKind(path, "an object", nil)
			continue
		}
		routes = append(routes, d.route(d.object(path, value, routeSchema)))
	}
	return routes
}

func (d *decoder) route(o object) *types.Route {
	route := &types.Route{}
	if f := (textAt{o.at("dst"), d.text(o, "dst")}); f.text == "" {
		d.fail(Errorf(CodeConfig, "%s is missing", f.path))
	} else if dst, err := types.ParseCIDR(f.text); err != nil {
		d.fail(invalid(f, "is not an address and a prefix length such as 0.0.0.0/0"))
	} else {
		route.Dst = *dst
	}
	if f := (textAt{o.at("gw"), d.text(o, "gw")}); f.text != "" {
		if route.GW = net.ParseIP(f.text); route.GW == nil {
			d.fail(invalid(f, "is not an IP address"))
		}
	}
	route.MTU, _ = d.integer(o, "mtu")
	route.AdvMSS, _ = d.integer(o, "advmss")
	route.Priority, _ = d.integer(o, "priority")
	if table, ok := d.integer(o, "table"); ok {
		route.Table = &table
	}
	if scope, ok := d.integer(o, "scope"); ok {
		route.Scope = &scope
	}
	return route
}

// routesFor returns the routes for the result. Before 1.1.0 a route has no
// more than a destination and a gateway.
func routesFor(cfg *Config) []*types.Route {
	if full, err := version.GreaterThanOrEqualTo(cfg.CNIVersion, "1.1.0"); err == nil && full {
		return cfg.Routes
	}
	routes := make([]*types.Route, len(cfg.Routes))
	for i, r := range cfg.Routes {
		routes[i] = &types.Route{Dst: r.Dst, GW: r.GW}
	}
	return routes
}

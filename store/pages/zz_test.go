package pages
import ("testing";"fmt")
func (p *patient) dump(id uint64) {
 f := file{data: p.data, pageSize: 512, end: p.meta.HighWater}
 pg, err := f.page(id); fmt.Println(id, err, pg.leaf, pg.count, "use", p.inUse(id), "root", p.roots[id], "trail", p.trail[id], "over", p.over[id])
 if err == nil { for i:=range pg.count { if pg.leaf { fl, at := pg.leafElement(i); fmt.Printf("  %d %q\n", fl, pg.key(at)) } else { c, at := pg.branchElement(i);  fmt.Printf("  ->%d %q\n", c, pg.key(at))} } }
}
func TestZZ(t *testing.T){
 for range 6 { 
 p:=newPatient(t)
 n := 0
 for w := range p.replaced(true) {
   ok := t.Run("x", func(t *testing.T) { p.expectRest(t, w) })
   if !ok { n++; var to, from uint64; fmt.Sscanf(w.name, "page %d replaced by page %d", &to, &from); fmt.Println(w.name, p.meta); p.dump(to); p.dump(from); }
   if n >1 { return }
 }}
}

//! Prints a hash of the summary and tables of each scenario file given.
use forebay_sim::{Registry, Scenario, scenario, summary, tables};
use std::path::Path;
use std::sync::Arc;
fn main() {
    let registry = Arc::new(Registry::builtin());
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let tree = match scenario::parse(&text) { Ok(t) => t, Err(_) => continue };
        let path = Path::new(&file);
        let found = Scenario::read(&tree, path.parent().unwrap(), &registry);
        let s = match found { Ok(s) => s, Err(e) => { println!("{file} ERR {e}"); continue } };
        let eff = match s.effective() { Ok(v) => v, Err(e) => { println!("{file} EFF {e}"); continue } };
        let mut eff = eff; eff.sort_all_objects();
        let mut w = match s.world(s.table().seed) { Ok(w) => w, Err(e) => { println!("{file} WORLD {e}"); continue } };
        let until = forebay_core::Time::ZERO + forebay_core::Duration::from_secs(20);
        let r = loop { match w.advance_to(until, 1_000_000) { Ok(p) if p.arrived => break Ok(()), Ok(_) => {}, Err(e) => break Err(e) } };
        if let Err(e) = r { println!("{file} RUN {e}"); continue }
        let t = format!("{:?}", tables(&s, &mut w));
        let sum = summary(&s, 1, &mut w).whole();
        let h = |x: &str| { let mut h: u64 = 0xcbf29ce484222325; for b in x.bytes() { h = (h ^ u64::from(b)).wrapping_mul(0x100000001b3); } h };
        println!("{file} {} {:016x} {:016x} {:016x}", sum["fingerprint"], h(&sum.to_string()), h(&t), h(&eff.to_string()));
    }
}

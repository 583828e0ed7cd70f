use tcnum::{arithmetic::Model, isa};
fn main() {
    for file in std::fs::read_dir("../shared/vectors").unwrap() {
        let p = file.unwrap().path();
        if !p.to_string_lossy().contains("h100") || !p.to_string_lossy().ends_with("safetensors") {
            continue;
        }
        let bytes = std::fs::read(&p).unwrap();
        let (_, md) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        let t = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let meta = md.metadata().clone().unwrap();
        let i = isa::find(&meta["instruction"]).unwrap();
        let e = Model::load("hopper").unwrap().evaluator(&i).unwrap();
        let codes = |n: &str, f| isa::Codes::from_bytes(f, t.tensor(n).unwrap().data().to_vec()).unwrap();
        let (a, b, c, d) = (codes("a", i.a), codes("b", i.b), codes("c", i.c), codes("d", i.d));
        let k = a.len() / c.len();
        let mut bad = 0;
        let start = std::time::Instant::now();
        for s in 0..c.len() {
            let mut av: Vec<u64> = (0..k).map(|x| a.get(s * k + x)).collect();
            let mut bv: Vec<u64> = (0..k).map(|x| b.get(s * k + x)).collect();
            av.resize(i.k, 0);
            bv.resize(i.k, 0);
            if e.dot(&av, &bv, c.get(s)) != d.get(s) {
                bad += 1
            }
        }
        println!(
            "{} {} bad {} of {} {:.0} ns/dot",
            p.file_name().unwrap().to_string_lossy(),
            i,
            bad,
            c.len(),
            start.elapsed().as_nanos() as f64 / c.len() as f64
        );
    }
}

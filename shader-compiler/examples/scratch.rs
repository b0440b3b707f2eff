fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        println!("==== {path}\n{}", text.trim_end());
        match naga::front::wgsl::parse_str(&text) {
            Err(e) => { println!("---- PARSE: {}", e.message()); for (s, l) in e.labels() { println!("   label {:?} {:?} {}", s, s.to_range().map(|r| text.get(r)), l); } for n in e.notes() { println!("   note {n}"); } }
            Ok(m) => match naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty()).validate(&m) {
                Ok(_) => println!("---- OK"),
                Err(e) => { println!("---- VALID: {e}"); println!("   {:?}", e.as_inner()); for (s, l) in e.spans() { println!("   label {:?} {:?} {}", s, s.to_range().map(|r| text.get(r)), l); } }
            },
        }
    }
}

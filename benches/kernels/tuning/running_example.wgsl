//! The running example of Campos et al. 2012, Figure 2: two counters that approach each other.

fn density(p: vec3f) -> f32 {
    var k = 0;
    var sum = 0;
    while k < 100 {
        var i = 0;
        var j = k;
        while i < j {
            i += 1;
            j -= 1;
        }
        sum = i;
        k += 1;
    }
    return f32(sum + k);
}

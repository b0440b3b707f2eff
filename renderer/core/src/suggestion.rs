//! Suggestions for misspelt names.

/// Returns the candidate closest to `word`, ignoring case, if it is within a few edits (Levenshtein
/// distance).
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const MAX_CHARS: usize = 64;
    let fold = |s: &str| s.chars().take(MAX_CHARS).flat_map(char::to_lowercase).collect::<String>();
    let word = fold(word);
    let max_distance = word.chars().count().div_ceil(3);
    let scored = candidates.into_iter().map(|c| (strsim::levenshtein(&word, &fold(c)), c));
    scored
        .filter(|&(distance, _)| distance <= max_distance)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, c)| c)
}

/// Returns "did you mean …" if [`nearest`] finds a candidate, else `otherwise`.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match nearest(word, candidates) {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None => otherwise.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_misspelt_words() {
        let words = ["Shape", "Scale", "Sampler"];
        assert_eq!(nearest("shpae", words), Some("Shape"));
        assert_eq!(nearest("Film", words), None);
        assert_eq!(nearest("shap", words), Some("Shape"));
        assert_eq!(nearest("Smapler", words), Some("Sampler"));
        assert_eq!(nearest("", words), None);
    }
}

//! Texts for a terminal of few columns: no word and no number is cut in its middle.

use ratatui::text::Line;

/// Returns the first of the texts that fits into so many columns; they are given from the longest to
/// the shortest. If none fits, the last one ends with the last word for which there is room.
pub fn fitting<const N: usize>(columns: u16, texts: [String; N]) -> String {
    let place = texts.iter().position(|text| fits(text, columns));
    let chosen = place.unwrap_or(N - 1);
    let text = texts.into_iter().nth(chosen).unwrap_or_default();
    match wrapped(columns.saturating_sub(2), &text).as_slice() {
        [first, _, ..] if !fits(&text, columns) => format!("{first} …"),
        _ => text,
    }
}

/// Breaks a text into lines between its words. A word that is too long for a line ends with "…".
pub fn wrapped(columns: u16, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if fits(&longer, columns) {
                *line = longer;
                continue;
            }
        }
        lines.push(shortened(columns, word));
    }
    lines
}

fn shortened(columns: u16, word: &str) -> String {
    if fits(word, columns) {
        return word.to_owned();
    }
    let mut short = String::new();
    for letter in word.chars() {
        if !fits(&format!("{short}{letter}…"), columns) {
            break;
        }
        short.push(letter);
    }
    short + "…"
}

fn fits(text: &str, columns: u16) -> bool {
    Line::from(text).width() <= columns.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_that_fits_is_taken_and_the_last_one_ends_with_a_word() {
        let texts = || ["mean 182.45, max 200".to_owned(), "mean 182.45".to_owned()];
        for (columns, expected) in [
            (20, "mean 182.45, max 200"),
            (19, "mean 182.45"),
            (11, "mean 182.45"),
            (10, "mean …"),
        ] {
            assert_eq!(fitting(columns, texts()), expected, "{columns}");
        }
    }

    #[test]
    fn lines_break_between_words_and_a_word_that_is_too_long_says_so() {
        assert_eq!(wrapped(10, "10.0.0.1:9 > b"), ["10.0.0.1:9", "> b"]);
        assert_eq!(wrapped(5, "ab abcdefgh"), ["ab", "abcd…"]);
        // two columns each
        assert_eq!(wrapped(5, "漢字漢字"), ["漢字…"]);
    }
}

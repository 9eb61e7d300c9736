//! What is known of an imported graph beside its lists, as text for the library.

use crate::error::Result;
use crate::text;
use std::ffi::CString;
use std::fmt;

/// What is known of a graph from elsewhere beside its lists; [`Graph::describe`](crate::Graph::describe) takes it. What is
/// not named stays as it is.
///
/// ```
/// use knng::{Facts, Graph, Rows};
///
/// # fn main() -> knng::Result<()> {
/// let (ids, similarities) = ([1_i64, 0, 1], [0.9_f32, 0.9, 0.4]);
/// let graph = Graph::import(Rows::new(&ids, 1)?, Some(Rows::new(&similarities, 1)?), 0, 3, true)?;
/// let graph = graph.describe(
///     Facts::new().text("metric", "cosine").text("value", "similarity").statistic("duplicates", 0.0).ties(&[0, 1, 0]),
/// )?;
/// assert_eq!(graph.text("metric")?, "cosine");
/// assert_eq!(graph.statistic("ties_at_k")?, Some(1.0)); // counted
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Facts<'a> {
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) statistics: Vec<(String, f64)>,
    pub(crate) ties: Option<&'a [u8]>,
    pub(crate) proof: Option<&'a [u8]>,
}

impl<'a> Facts<'a> {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// A text, as [`Graph::text`](crate::Graph::text) gives it: "metric", "p", "value" and others. These three are written
    /// as the settings are.
    #[must_use]
    pub fn text(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.texts.push((name.into(), value.to_string()));
        self
    }

    /// A statistic, as [`Graph::statistic`](crate::Graph::statistic) gives it; [`statistics`](crate::statistics) lists them.
    #[must_use]
    pub fn statistic(mut self, name: &str, number: f64) -> Self {
        self.statistics.push((name.into(), number));
        self
    }

    /// For each row 1 if a row that is not in its list is exactly as far as the last that is, else 0. They are counted as
    /// statistic "ties_at_k".
    #[must_use]
    pub fn ties(mut self, marks: &'a [u8]) -> Self {
        self.ties = Some(marks);
        self
    }

    /// For each row how it was proved, as [`Graph::row_numbers`](crate::Graph::row_numbers) gives "proof". Rows that are
    /// proved are counted as statistic "proved".
    #[must_use]
    pub fn proof(mut self, marks: &'a [u8]) -> Self {
        self.proof = Some(marks);
        self
    }

    /// Lines of name=value, as in graph files.
    pub(crate) fn lines(&self) -> Result<CString> {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace('\n', "\\n");
        let texts = self.texts.iter().map(|(name, value)| format!("text.{name}={}\n", escaped(value)));
        let statistics = self.statistics.iter().map(|(name, number)| format!("stat.{name}={number}\n"));
        text::to_c("facts", texts.chain(statistics).collect::<String>())
    }
}

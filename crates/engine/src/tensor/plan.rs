//! Plans: the format of each tensor of a file, by patterns of names.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, base::text, isa::pattern};

/// Formats of the tensors of a file; the first recipe whose patterns match a name decides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Recipes, in their order.
    #[serde(rename = "recipe")]
    pub recipes: Vec<Recipe>,
}

/// A format, and the tensors that take it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    /// Format or block format.
    pub to: String,
    /// Rule for scales; the format's own without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_rule: Option<String>,
    /// Values that share a scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// Patterns of names, in which `*` matches anything.
    pub tensors: Vec<String>,
}

impl Plan {
    /// Reads the plan at `path`.
    ///
    /// # Errors
    /// A request error: a file that cannot be read, or that is no plan (with its line); patterns that are none.
    pub fn read(path: &Path) -> Result<Plan> {
        let text = text::read(path, "the plan")?;
        let wrong = |what: String| Error::request(format!("{}: {what}", path.display()));
        let plan: Plan = toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().into()))?;
        let patterns = || plan.recipes.iter().flat_map(|recipe| &recipe.tensors);
        if patterns().next().is_none() {
            return Err(wrong(
                "no tensors; a plan has [[recipe]] with to = \"FORMAT\" and tensors = [\"PATTERN\"]".into(),
            ));
        }
        match patterns().find_map(|given| Some((given, pattern::defect(given)?))) {
            Some((given, defect)) => Err(wrong(format!("the pattern '{given}': {defect}"))),
            None => Ok(plan),
        }
    }

    /// The plan as TOML.
    pub fn text(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }
}

impl Recipe {
    /// True if a pattern matches the name of a tensor.
    pub fn matches(&self, name: &str) -> bool {
        self.tensors.iter().any(|given| pattern::matches(given, name))
    }
}

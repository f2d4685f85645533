//! What the program brings with it, one of a kind for a variant, and the files that stand in for it.

use std::path::Path;
use std::sync::Arc;

use crate::rules::Variant;

/// Something that belongs to a variant, is part of the program, and can be replaced by a file.
pub trait Owned: PartialEq + Sized + 'static {
    /// Why a file is refused.
    type Error;

    /// The variant it is for.
    fn variant(&self) -> Variant;

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is refused.
    fn load(path: &Path) -> Result<Self, Self::Error>;

    /// The program's own for a variant.
    fn embedded(variant: Variant) -> Option<Arc<Self>>;
}

/// Which of a kind are used: the program's own, unless replaced or switched off.
#[derive(Debug)]
pub struct Choice<T> {
    replaced: Vec<Arc<T>>,
    without_own: bool,
}

// Not derived, since that would ask the same of the things chosen from.
impl<T> Clone for Choice<T> {
    fn clone(&self) -> Self {
        Self {
            replaced: self.replaced.clone(),
            without_own: self.without_own,
        }
    }
}

impl<T> Default for Choice<T> {
    fn default() -> Self {
        Self {
            replaced: Vec::new(),
            without_own: false,
        }
    }
}

impl<T: Owned> Choice<T> {
    /// None at all.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            replaced: Vec::new(),
            without_own: true,
        }
    }

    /// Whether there is nothing for any variant.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.without_own && self.replaced.is_empty()
    }

    /// Uses this for its variant, in place of any other.
    #[must_use]
    pub fn with(mut self, one: Arc<T>) -> Self {
        self.replaced
            .retain(|other| other.variant() != one.variant());
        self.replaced.push(one);
        self
    }

    /// Reads the text form: `<embedded>` or nothing for the program's own, `<none>` for none, or files with `;` between
    /// them, which replace the program's own for their variants.
    ///
    /// # Errors
    /// If a file cannot be read or is refused.
    pub fn parse(text: &str) -> Result<Self, T::Error> {
        let mut choice = Self::default();
        match text.trim() {
            "" | "<embedded>" => {}
            "<none>" | "none" => return Ok(Self::none()),
            files => {
                for file in files.split(';').map(str::trim).filter(|f| !f.is_empty()) {
                    choice = choice.with(Arc::new(T::load(Path::new(file))?));
                }
            }
        }
        Ok(choice)
    }

    /// What is used for a variant.
    #[must_use]
    pub fn get(&self, variant: Variant) -> Option<Arc<T>> {
        let replaced = self.replaced.iter().find(|one| one.variant() == variant);
        match replaced {
            Some(one) => Some(Arc::clone(one)),
            None if self.without_own => None,
            None => T::embedded(variant),
        }
    }
}

impl<T: Owned> PartialEq for Choice<T> {
    fn eq(&self, other: &Self) -> bool {
        Variant::ALL
            .into_iter()
            .all(|variant| self.get(variant) == other.get(variant))
    }
}

impl<T: Owned> Eq for Choice<T> {}

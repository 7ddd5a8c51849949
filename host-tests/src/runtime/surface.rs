//! What a component imports and exports, by name.

use wasmtime::Engine;
use wasmtime::component::Component;

use super::RuntimeError;

/// What a component imports and exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surface {
    /// What it imports, sorted.
    pub imports: Vec<String>,
    /// What it exports, sorted.
    pub exports: Vec<String>,
}

impl Surface {
    /// Of the component `bytes`, whether or not this host can run it.
    ///
    /// # Errors
    ///
    /// It is no component.
    pub fn of_bytes(bytes: &[u8]) -> Result<Surface, RuntimeError> {
        let component = Component::new(&Engine::default(), bytes);
        Ok(Surface::of(&component.map_err(|error| RuntimeError::Compile(error.into()))?))
    }

    pub(super) fn of(component: &Component) -> Surface {
        let (kind, engine) = (component.component_type(), component.engine());
        Surface {
            imports: sorted(kind.imports(engine).map(|(name, _)| name)),
            exports: sorted(kind.exports(engine).map(|(name, _)| name)),
        }
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}

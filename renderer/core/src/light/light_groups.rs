//! Light groups: named sets of lights, whose light the film can store separately.

/// The group of lights without a group of their own.
pub const DEFAULT_GROUP: &str = "default";

/// The groups of all lights of a scene. Each light is in one group.
#[derive(Clone, Debug, Default)]
pub struct LightGroups {
    /// In the order of their first lights.
    names: Vec<String>,
    /// Index of the group of each light.
    groups: Vec<u32>,
}

impl LightGroups {
    /// Puts the lights up to number `lights`, exclusive, that have no group yet into one.
    pub fn assign(&mut self, name: &str, lights: usize) {
        if lights <= self.groups.len() {
            return;
        }
        let group = self.names.iter().position(|other| other == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.groups.resize(lights, group as u32);
    }

    /// Returns the names of the groups; empty if no light was assigned.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of the group of a light.
    pub fn of(&self, light: u32) -> u32 {
        self.groups.get(light as usize).copied().unwrap_or(0)
    }

    /// Returns the index of the group of emissive media: [`DEFAULT_GROUP`] if there is one.
    pub fn of_media(&self) -> u32 {
        self.names.iter().position(|name| name == DEFAULT_GROUP).unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lights_are_in_the_last_assigned_group() {
        let mut groups = LightGroups::default();
        for (name, lights) in [("key", 2), ("empty", 2), (DEFAULT_GROUP, 3), ("key", 5)] {
            groups.assign(name, lights);
        }
        assert_eq!(groups.names(), ["key", "default"]);
        assert_eq!([0, 1, 2, 3, 4].map(|light| groups.of(light)), [0, 0, 1, 0, 0]);
    }
}

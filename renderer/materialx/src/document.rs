//! Documents as trees of elements.
//!
//! Included files (XInclude) become part of the tree. Their elements keep the root of their own file
//! as the parent, from which they inherit attributes such as `colorspace` and `fileprefix`; for
//! names, there is one root.

use crate::error::{Error, Location};
use std::io;

/// Index of an element in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(usize);

/// An element of XML.
#[derive(Debug)]
struct Element {
    category: String,
    attributes: Vec<(String, String)>,
    children: Vec<Id>,
    parent: Option<Id>,
    /// Index of the file.
    file: usize,
    line: u32,
}

/// A MaterialX document.
#[derive(Debug)]
pub struct Document {
    elements: Vec<Element>,
    /// Names of the files, relative to the folder of the first.
    files: Vec<String>,
}

/// Files that include each other, including the first.
const MAX_INCLUDE_DEPTH: usize = 16;

/// Elements of a document and its includes.
const MAX_ELEMENTS: usize = 1 << 20;

/// Nested elements; a document has three levels, and a definition four.
const MAX_NESTING: usize = 64;

/// Category of the root.
const ROOT: &str = "materialx";

impl Document {
    /// Reads a document. `read` returns the text of a file that it includes, given by its path
    /// relative to the folder of the document.
    ///
    /// # Errors
    /// The first problem of the XML or of an included file.
    pub fn parse(
        name: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Document, Error> {
        let mut document = Document { elements: Vec::new(), files: Vec::new() };
        document.add_file(name, "", text, read, 1)?;
        Ok(document)
    }

    /// Adds the elements of a file, and returns its root. `folder` is that of the file, with a slash
    /// at its end.
    fn add_file(
        &mut self,
        name: &str,
        folder: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
        depth: usize,
    ) -> Result<Id, Error> {
        let file = self.files.len();
        self.files.push(name.to_owned());
        let options = roxmltree::ParsingOptions {
            nodes_limit: MAX_ELEMENTS as u32,
            ..roxmltree::ParsingOptions::default()
        };
        let xml =
            roxmltree::Document::parse_with_options(text, options).map_err(|error| Error {
                location: Location { file: name.to_owned(), line: error.pos().row },
                message: format!("invalid XML: {error}"),
                help: "correct the file".into(),
            })?;
        let root = xml.root_element();
        let id = self.add(file, None, root, &xml)?;
        if self.category(id) != ROOT {
            return Err(self.error(
                id,
                format!("<{}> is not a MaterialX document", self.category(id)),
                "the first element of a document is <materialx>",
            ));
        }
        // Elements with children that are not added yet.
        let mut pending = vec![(id, root, 1)];
        while let Some((parent, node, nesting)) = pending.pop() {
            for child in node.children().filter(roxmltree::Node::is_element) {
                if nesting >= MAX_NESTING {
                    return Err(self.error(
                        parent,
                        format!("elements are nested more than {MAX_NESTING} deep"),
                        "correct the file",
                    ));
                }
                if child.tag_name().name() == "include" {
                    self.include(parent, child, &xml, folder, read, depth)?;
                    continue;
                }
                let id = self.add(file, Some(parent), child, &xml)?;
                self.elements[parent.0].children.push(id);
                pending.push((id, child, nesting + 1));
            }
        }
        Ok(id)
    }

    fn include(
        &mut self,
        parent: Id,
        node: roxmltree::Node,
        xml: &roxmltree::Document,
        folder: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
        depth: usize,
    ) -> Result<(), Error> {
        let line = xml.text_pos_at(node.range().start).row;
        let file = self.files[self.elements[parent.0].file].clone();
        let fail = |message: String, help: &str| Error {
            location: Location { file, line },
            message,
            help: help.into(),
        };
        let Some(href) = node.attribute("href") else {
            return Err(fail("the include names no file".into(), "give href=\"…\""));
        };
        if depth == MAX_INCLUDE_DEPTH {
            let message = format!("more than {MAX_INCLUDE_DEPTH} files include each other");
            return Err(fail(message, "remove the cycle"));
        }
        let path = format!("{folder}{href}");
        let text = read(&path).map_err(|cause| {
            fail(
                format!("cannot read the included file {path}: {cause}"),
                "check the path, which is relative to the document",
            )
        })?;
        let inner = path.rfind('/').map_or("", |end| &path[..=end]).to_owned();
        let root = self.add_file(&path, &inner, &text, read, depth + 1)?;
        let children = self.elements[root.0].children.clone();
        self.elements[parent.0].children.extend(children);
        Ok(())
    }

    fn add(
        &mut self,
        file: usize,
        parent: Option<Id>,
        node: roxmltree::Node,
        xml: &roxmltree::Document,
    ) -> Result<Id, Error> {
        let line = xml.text_pos_at(node.range().start).row;
        if self.elements.len() == MAX_ELEMENTS {
            return Err(Error {
                location: Location { file: self.files[file].clone(), line },
                message: format!("the document has more than {MAX_ELEMENTS} elements"),
                help: "split the document, and include only what the material needs".into(),
            });
        }
        let attributes = node
            .attributes()
            .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
            .collect();
        let category = node.tag_name().name().to_owned();
        let children = Vec::new();
        self.elements.push(Element { category, attributes, children, parent, file, line });
        Ok(Id(self.elements.len() - 1))
    }

    /// The name of the first file.
    pub(crate) fn file_name(&self) -> &str {
        &self.files[0]
    }

    /// The root.
    pub(crate) fn root(&self) -> Id {
        Id(0)
    }

    /// The tag of an element, such as `image`.
    pub(crate) fn category(&self, id: Id) -> &str {
        &self.elements[id.0].category
    }

    /// An attribute, unless it is empty.
    pub(crate) fn attribute(&self, id: Id, name: &str) -> Option<&str> {
        let (_, value) = self.elements[id.0].attributes.iter().find(|(n, _)| n == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// The attribute of an element, or that of the nearest element around it.
    pub(crate) fn inherited(&self, id: Id, name: &str) -> Option<&str> {
        let mut at = Some(id);
        while let Some(id) = at {
            if let Some(value) = self.attribute(id, name) {
                return Some(value);
            }
            at = self.elements[id.0].parent;
        }
        None
    }

    /// The name of an element, or an empty text.
    pub(crate) fn name(&self, id: Id) -> &str {
        self.attribute(id, "name").unwrap_or_default()
    }

    /// The children of an element.
    pub(crate) fn children(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.elements[id.0].children.iter().copied()
    }

    /// The child of an element with this name, if there is one.
    pub(crate) fn child(&self, id: Id, name: &str) -> Option<Id> {
        self.children(id).find(|&child| self.name(child) == name)
    }

    /// The element around an element.
    pub(crate) fn parent(&self, id: Id) -> Option<Id> {
        self.elements[id.0].parent
    }

    /// The element in which names of nodes are looked up: the graph around a node, or the root.
    pub(crate) fn container(&self, id: Id) -> Id {
        match self.elements[id.0].parent {
            Some(parent) if self.category(parent) != ROOT => parent,
            _ => self.root(),
        }
    }

    /// An input of a node; those of MaterialX before 1.37 may be called parameters.
    pub(crate) fn input(&self, node: Id, name: &str) -> Option<Id> {
        self.inputs(node).find(|&input| self.name(input) == name)
    }

    /// The inputs of a node.
    pub(crate) fn inputs(&self, node: Id) -> impl Iterator<Item = Id> + '_ {
        self.children(node).filter(|&child| matches!(self.category(child), "input" | "parameter"))
    }

    /// Where an element is.
    pub(crate) fn location(&self, id: Id) -> Location {
        let Element { file, line, .. } = self.elements[id.0];
        Location { file: self.files[file].clone(), line }
    }

    /// The folder of an element's file, relative to that of the document, with a slash at its end.
    pub(crate) fn folder(&self, id: Id) -> &str {
        match self.elements[id.0].file {
            0 => "",
            file => self.files[file].rfind('/').map_or("", |end| &self.files[file][..=end]),
        }
    }

    /// An error at an element.
    pub(crate) fn error(
        &self,
        id: Id,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Error {
        Error { location: self.location(id), message: message.into(), help: help.into() }
    }

    /// Names an element in messages: its category and name.
    pub(crate) fn label(&self, id: Id) -> String {
        format!("<{}> \"{}\"", self.category(id), self.name(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_files(_: &str) -> io::Result<String> {
        Err(io::Error::other("no files"))
    }

    #[test]
    fn elements_have_lines_and_inherit_attributes() {
        let text = "<materialx colorspace=\"acescg\">\n<nodegraph name=\"g\">\n\
                    <image name=\"i\" colorspace=\"\"/></nodegraph></materialx>";
        let document = Document::parse("a.mtlx", text, &mut no_files).unwrap();
        let graph = document.child(document.root(), "g").unwrap();
        let image = document.child(graph, "i").unwrap();
        assert_eq!(document.location(image).to_string(), "a.mtlx:3");
        assert_eq!(document.inherited(image, "colorspace"), Some("acescg"));
        assert_eq!(
            (document.container(image), document.container(graph)),
            (graph, document.root())
        );
    }

    #[test]
    fn included_files_keep_their_own_attributes() {
        let main = "<materialx colorspace=\"lin_rec709\"><xi:include \
                    xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"lib/b.mtlx\"/></materialx>";
        let mut read = |path: &str| {
            assert_eq!(path, "lib/b.mtlx");
            Ok("<materialx fileprefix=\"images/\"><image name=\"i\"/></materialx>".to_owned())
        };
        let document = Document::parse("a.mtlx", main, &mut read).unwrap();
        let image = document.child(document.root(), "i").unwrap();
        assert_eq!(document.inherited(image, "fileprefix"), Some("images/"));
        assert_eq!(document.inherited(image, "colorspace"), None);
        assert_eq!(document.container(image), document.root());
        assert_eq!(document.folder(image), "lib/");
    }

    #[test]
    fn invalid_files_are_errors() {
        let include = "<materialx><include href=\"a.mtlx\"/></materialx>";
        let nested = format!("<materialx>{}{}</materialx>", "<a>".repeat(99), "</a>".repeat(99));
        for (text, message) in [
            ("<materialx>\n<a></b></materialx>", "a.mtlx:2: invalid XML"),
            ("<svg/>", "a.mtlx:1: <svg> is not a MaterialX document"),
            ("<materialx>\n<include/></materialx>", "a.mtlx:2: the include names no file"),
            ("<materialx><include href=\"b\"/></materialx>", "cannot read the included file b"),
            (include, "more than 16 files include each other"),
            (&nested, "nested more than 64 deep"),
            ("<!DOCTYPE x [<!ENTITY a \"b\">]><materialx/>", "invalid XML"),
        ] {
            let mut read = |path: &str| match path {
                "a.mtlx" => Ok(include.to_owned()),
                _ => no_files(path),
            };
            let error = Document::parse("a.mtlx", text, &mut read).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

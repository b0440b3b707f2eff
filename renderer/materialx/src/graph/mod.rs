//! Evaluation of node graphs: statements of a program for what inputs are connected to.
//!
//! A node is evaluated in a scope, its graph, or its graph as the definition of another node. Each
//! node becomes one `let`, the first time that it is used.

mod checks;
mod parameters;

pub(crate) use parameters::{Origin, Parameter, one_line};

use crate::colour::{self, ColourSpace};
use crate::document::{Document, Id};
use crate::error::{Error, Warning};
use crate::names::Names;
use crate::nodes;
use crate::textures::{ImageFile, Texture};
use crate::values::{Term, Type, parse_value};
use std::collections::{HashMap, HashSet};

/// Index of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope(usize);

/// The scope of nodes outside of graphs.
pub(crate) const TOP: Scope = Scope(0);

/// Where inputs that are connected to the interface of a graph get their values.
#[derive(Clone, Copy, Debug)]
enum Interface {
    /// There is none.
    None,
    /// The inputs of the graph itself.
    Graph(Id),
    /// The inputs of a node, with the defaults of its definition.
    Node { scope: Scope, node: Id, definition: Id },
}

/// What a program consists of, apart from the surface.
pub(crate) struct Graph<'d> {
    pub document: &'d Document,
    interfaces: Vec<Interface>,
    scopes: HashMap<(Scope, Id), Scope>,
    /// Nodes that have been evaluated.
    values: HashMap<(Scope, Id, String), Term>,
    /// Nodes that are being evaluated.
    active: HashSet<(Scope, Id)>,
    /// Statements of the function.
    pub statements: Vec<String>,
    pub names: Names,
    pub textures: Vec<Texture>,
    /// Files of images, also of those that are not in the program.
    pub files: Vec<ImageFile>,
    /// Inputs of graphs and attributes of vertices, which are parameters of the program.
    pub parameters: Vec<Parameter>,
    pub warnings: Vec<Warning>,
    /// The texture coordinates of the point where nodes are evaluated.
    pub uv: String,
    /// Whether directions are in the shading frame, in the function of a normal.
    pub in_shading_frame: bool,
}

/// Nodes in a chain, each connected to the next.
pub(crate) const MAX_CHAIN: usize = 200;

/// Statements of a program. Definitions that use each other may need any number.
const MAX_STATEMENTS: usize = 10_000;

impl<'d> Graph<'d> {
    pub fn new(document: &'d Document, names: Names) -> Graph<'d> {
        Graph {
            document,
            interfaces: vec![Interface::None],
            scopes: HashMap::new(),
            values: HashMap::new(),
            active: HashSet::new(),
            statements: Vec::new(),
            names,
            textures: Vec::new(),
            files: Vec::new(),
            parameters: Vec::new(),
            warnings: Vec::new(),
            uv: "p.uv".into(),
            in_shading_frame: false,
        }
    }

    /// Begins another function, and returns the statements of the one before.
    pub fn next_function(&mut self, in_shading_frame: bool) -> Vec<String> {
        self.values.clear();
        self.names.next_function();
        self.in_shading_frame = in_shading_frame;
        std::mem::take(&mut self.statements)
    }

    /// Removes the last statements, and what is known of nodes.
    pub fn discard_statements(&mut self, start: usize) {
        self.statements.truncate(start);
        self.values.clear();
    }

    /// Evaluates something at other texture coordinates.
    pub fn at_uv<T>(&mut self, uv: String, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let values = std::mem::take(&mut self.values);
        let outside = std::mem::replace(&mut self.uv, uv);
        let result = evaluate(self);
        self.uv = outside;
        self.values = values;
        result
    }

    /// Evaluates something with directions in the shading frame.
    pub fn in_shading_frame<T>(&mut self, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let values = std::mem::take(&mut self.values);
        let outside = std::mem::replace(&mut self.in_shading_frame, true);
        let result = evaluate(self);
        self.in_shading_frame = outside;
        self.values = values;
        result
    }

    /// Evaluates something without changing the program. Returns the result, and the statements and
    /// images that it would add.
    pub fn evaluate_isolated<T>(
        &mut self,
        evaluate: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<String>, Vec<Texture>) {
        let names = self.names.clone();
        let (parameters, warnings) = (self.parameters.len(), self.warnings.len());
        let statements = std::mem::take(&mut self.statements);
        let values = std::mem::take(&mut self.values);
        let textures = std::mem::take(&mut self.textures);
        let result = evaluate(self);
        self.names = names;
        self.values = values;
        self.parameters.truncate(parameters);
        self.warnings.truncate(warnings);
        let added = std::mem::replace(&mut self.statements, statements);
        (result, added, std::mem::replace(&mut self.textures, textures))
    }

    /// Warns that something at an element is not supported.
    pub fn warn(&mut self, id: Id, message: impl Into<String>, fallback: impl Into<String>) {
        let warning = self.warning(id, message, fallback);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// A warning that something at an element is not supported.
    pub fn warning(
        &self,
        id: Id,
        message: impl Into<String>,
        fallback: impl Into<String>,
    ) -> Warning {
        let (message, fallback) = (message.into(), fallback.into());
        Warning { location: self.document.location(id), message, fallback }
    }

    /// Evaluates an input of a node as a value of a type; `None` if the node does not have it.
    pub fn input(
        &mut self,
        scope: Scope,
        node: Id,
        name: &str,
        ty: Type,
    ) -> Result<Option<Term>, Error> {
        match self.document.input(node, name) {
            Some(input) => self.value_of(scope, input, ty),
            None => Ok(None),
        }
    }

    /// Evaluates an input as a value of a type; `None` if it has none.
    pub fn value_of(&mut self, scope: Scope, input: Id, ty: Type) -> Result<Option<Term>, Error> {
        let Some(term) = self.resolve(scope, input)? else { return Ok(None) };
        self.coerce(input, term, ty).map(Some)
    }

    /// Evaluates an input of a node as it is; `None` if the node does not have it.
    pub fn any_input(&mut self, scope: Scope, node: Id, name: &str) -> Result<Option<Term>, Error> {
        match self.document.input(node, name) {
            Some(input) => self.resolve(scope, input),
            None => Ok(None),
        }
    }

    /// Converts a value to the type of an input.
    pub fn coerce(&self, input: Id, term: Term, ty: Type) -> Result<Term, Error> {
        if term.ty == ty || term.ty.wgsl() == ty.wgsl() {
            return Ok(Term { ty, ..term });
        }
        if let Some(constant) = &term.constant
            && (constant.len() == 1 || constant.len() == ty.size())
            && !ty.is_matrix()
        {
            return Ok(Term::constant(ty, constant));
        }
        let text = &term.text;
        let converted = match (term.ty, ty) {
            (Type::Float, _) if ty.is_vector() => format!("{}({text})", ty.wgsl()),
            (Type::Integer, Type::Float) => format!("f32({text})"),
            (Type::Boolean, Type::Float) => format!("f32({text})"),
            (Type::Float, Type::Integer) => format!("i32({text})"),
            (Type::Boolean, Type::Integer) => format!("i32({text})"),
            _ => {
                let (document, found) = (self.document, term.ty.name());
                return Err(document.error(
                    input,
                    format!(
                        "input \"{}\" is of type {}, but gets {found}",
                        document.name(input),
                        ty.name()
                    ),
                    "connect a node of the same type, or add a <convert> between them",
                ));
            }
        };
        Ok(Term::expression(ty, converted))
    }

    /// Evaluates what an input or an output is connected to, or its value.
    fn resolve(&mut self, scope: Scope, input: Id) -> Result<Option<Term>, Error> {
        let document = self.document;
        let attribute = |name| document.attribute(input, name);
        let missing = |kind: &str, name: &str| {
            document.error(
                input,
                format!("there is no {kind} \"{name}\""),
                format!("connect \"{}\" to one that exists", document.name(input)),
            )
        };
        let output = attribute("output").unwrap_or("out");
        let term = if let Some(name) = attribute("interfacename") {
            return self.interface(scope, input, name);
        } else if let Some(name) = attribute("nodegraph") {
            let graph = self.child(document.root(), name);
            let graph = graph.filter(|&graph| document.category(graph) == "nodegraph");
            self.graph_output(graph.ok_or_else(|| missing("nodegraph", name))?, output, input)?
        } else if let Some(name) = attribute("nodename") {
            let owner = match document.category(input) {
                "output" => document.container(input),
                _ => document.container(self.owner(input)),
            };
            let node = self.child(owner, name).ok_or_else(|| missing("node", name))?;
            self.node(scope, node, output, input)?
        } else if let (Some(name), None) = (attribute("output"), attribute("value")) {
            let found = document.child(document.root(), name);
            let found = found.filter(|&found| document.category(found) == "output");
            self.node(TOP, found.ok_or_else(|| missing("output", name))?, "out", input)?
        } else {
            return match (attribute("value"), attribute("defaultgeomprop")) {
                (Some(text), _) => self.value(input, text).map(Some),
                (None, Some(name)) => Ok(nodes::geometric(self, name)),
                (None, None) => Ok(None),
            };
        };
        match attribute("channels") {
            Some(channels) => nodes::swizzle(self, input, &term, channels).map(Some),
            None => Ok(Some(term)),
        }
    }

    /// The node of an input.
    fn owner(&self, input: Id) -> Id {
        self.document.parent(input).expect("inputs have parents")
    }

    /// The value of an input that has one.
    fn value(&mut self, input: Id, text: &str) -> Result<Term, Error> {
        let document = self.document;
        let ty = self.declared_type(input)?;
        let mut components = parse_value(ty, text).map_err(|expected| {
            let message = format!("\"{}\" is \"{text}\": {expected}", document.name(input));
            document.error(input, message, "correct the value")
        })?;
        if ty.is_colour() {
            self.colour_space(input)?.convert(&mut components);
        }
        Ok(Term::constant(ty, &components))
    }

    /// The colour space of a colour or of an image.
    pub fn colour_space(&self, input: Id) -> Result<ColourSpace, Error> {
        let document = self.document;
        let name = document.inherited(input, "colorspace").unwrap_or("lin_rec709");
        ColourSpace::parse(name).ok_or_else(|| {
            document.error(
                input,
                format!("unknown colour space \"{name}\""),
                format!("use one of {}", colour::NAMES),
            )
        })
    }

    /// The type that an element declares.
    pub fn declared_type(&self, id: Id) -> Result<Type, Error> {
        let document = self.document;
        let name = document.attribute(id, "type").unwrap_or_default();
        Type::parse(name).ok_or_else(|| {
            let label = document.label(id);
            let message = match document.attribute(id, "type") {
                None => format!("{label} has no type"),
                Some(name) => format!("{label} has the type \"{name}\", which has no values here"),
            };
            document.error(
                id,
                message,
                "use float, integer, boolean, a color, a vector or a matrix, such as color3",
            )
        })
    }

    /// The text of an input that must be constant, such as the name of a file, and the element that
    /// has it.
    pub fn string(
        &self,
        scope: Scope,
        node: Id,
        name: &str,
    ) -> Result<Option<(Id, &'d str)>, Error> {
        let document = self.document;
        let (mut scope, mut at) = (scope, document.input(node, name));
        for _ in 0..MAX_CHAIN {
            let Some(input) = at else { return Ok(None) };
            if let Some(name) = document.attribute(input, "interfacename") {
                match self.interfaces[scope.0] {
                    Interface::None => break,
                    Interface::Graph(graph) => {
                        (scope, at) = (TOP, document.input(graph, name));
                    }
                    Interface::Node { scope: outer, node, definition } => {
                        let given = document.input(node, name);
                        (scope, at) = (outer, given.or_else(|| document.input(definition, name)));
                    }
                }
                continue;
            }
            if document.attribute(input, "nodename").is_some()
                || document.attribute(input, "nodegraph").is_some()
            {
                break;
            }
            return Ok(document.attribute(input, "value").map(|value| (input, value)));
        }
        Err(document.error(
            at.unwrap_or(node),
            format!("input \"{name}\" of {} must be constant", document.label(node)),
            "give it a value",
        ))
    }

    fn no_interface(&self, input: Id, name: &str) -> Error {
        self.document.error(
            input,
            format!("the graph has no input \"{name}\""),
            "correct interfacename, or add the input",
        )
    }

    /// The value of an input of the interface.
    fn interface(&mut self, scope: Scope, input: Id, name: &str) -> Result<Option<Term>, Error> {
        let document = self.document;
        let missing = || self.no_interface(input, name);
        match self.interfaces[scope.0] {
            Interface::None => Err(missing()),
            Interface::Graph(graph) => {
                let declared = document.input(graph, name).ok_or_else(missing)?;
                let is_connected = ["nodename", "nodegraph", "output"]
                    .iter()
                    .any(|name| document.attribute(declared, name).is_some());
                if is_connected {
                    return self.resolve(TOP, declared);
                }
                self.parameter(declared)
            }
            Interface::Node { scope, node, definition } => {
                if let Some(given) = document.input(node, name) {
                    return self.resolve(scope, given);
                }
                let declared = document.input(definition, name).ok_or_else(missing)?;
                self.resolve(TOP, declared)
            }
        }
    }

    /// The scope of a graph that is not the definition of a node.
    pub fn graph_scope(&mut self, graph: Id) -> Scope {
        self.scope((TOP, graph), Interface::Graph(graph))
    }

    fn scope(&mut self, key: (Scope, Id), interface: Interface) -> Scope {
        let next = Scope(self.interfaces.len());
        let scope = *self.scopes.entry(key).or_insert(next);
        if scope == next {
            self.interfaces.push(interface);
        }
        scope
    }

    /// The node that an input or an output is connected to, through graphs and definitions, and its
    /// scope; `None` if it is not connected. For nodes without a value: BSDFs and surfaces.
    pub fn source(&mut self, scope: Scope, input: Id) -> Result<Option<(Scope, Id)>, Error> {
        let document = self.document;
        let (mut scope, mut at) = (scope, input);
        for _ in 0..MAX_CHAIN {
            let attribute = |name| document.attribute(at, name);
            let missing = |kind: &str, name: &str| {
                let help = format!("connect \"{}\" to one that exists", document.name(at));
                document.error(at, format!("there is no {kind} \"{name}\""), help)
            };
            if let Some(name) = attribute("interfacename") {
                let (declared, outer, given) = match self.interfaces[scope.0] {
                    Interface::None => return Err(self.no_interface(at, name)),
                    Interface::Graph(graph) => {
                        let input = document.input(graph, name);
                        (input, TOP, input)
                    }
                    Interface::Node { scope, node, definition } => {
                        (document.input(definition, name), scope, document.input(node, name))
                    }
                };
                match (declared, given) {
                    (None, None) => return Err(self.no_interface(at, name)),
                    (_, None) => return Ok(None),
                    (_, Some(input)) => (scope, at) = (outer, input),
                }
                continue;
            }
            let output = attribute("output").unwrap_or("out");
            if let Some(name) = attribute("nodegraph") {
                let graph = self.child(document.root(), name);
                let graph = graph.ok_or_else(|| missing("nodegraph", name))?;
                at = self.find_output(graph, output, at)?;
                scope = self.graph_scope(graph);
                continue;
            }
            let Some(name) = attribute("nodename") else { return Ok(None) };
            let owner = match document.category(at) {
                "output" => document.container(at),
                _ => document.container(self.owner(at)),
            };
            let node = self.child(owner, name).ok_or_else(|| missing("node", name))?;
            match (document.category(node), document.input(node, "in")) {
                ("output", _) => at = node,
                ("dot", Some(input)) => at = input,
                _ => match self.definition_output(scope, node, output)? {
                    Some((inner, output)) => (scope, at) = (inner, output),
                    None => return Ok(Some((scope, node))),
                },
            }
        }
        Err(self.cycle(input, input))
    }

    /// The output of the graph that defines a node, and its scope; `None` for a node of MaterialX.
    pub fn definition_output(
        &mut self,
        scope: Scope,
        node: Id,
        output: &str,
    ) -> Result<Option<(Scope, Id)>, Error> {
        let Some((definition, graph)) = self.definition(node)? else { return Ok(None) };
        self.check_inputs(node, definition);
        let interface = Interface::Node { scope, node, definition };
        let inner = self.scope((scope, node), interface);
        Ok(Some((inner, self.find_output(graph, output, node)?)))
    }

    /// An output of a graph.
    fn graph_output(&mut self, graph: Id, output: &str, user: Id) -> Result<Term, Error> {
        let scope = self.graph_scope(graph);
        self.output(scope, graph, output, user)
    }

    /// The output of a graph with this name. The only output may have any name.
    fn find_output(&self, graph: Id, name: &str, user: Id) -> Result<Id, Error> {
        let document = self.document;
        let outputs: Vec<Id> =
            document.children(graph).filter(|&c| document.category(c) == "output").collect();
        let found = outputs.iter().copied().find(|&output| document.name(output) == name);
        let found = found.or_else(|| match outputs[..] {
            [one] => Some(one),
            _ => None,
        });
        found.ok_or_else(|| self.no_output(graph, name, user))
    }

    fn no_output(&self, graph: Id, name: &str, user: Id) -> Error {
        let message = format!("{} has no output \"{name}\"", self.document.label(graph));
        self.document.error(user, message, "connect one of its outputs")
    }

    /// An output of a graph in a scope.
    fn output(&mut self, scope: Scope, graph: Id, name: &str, user: Id) -> Result<Term, Error> {
        let found = self.find_output(graph, name, user)?;
        if !self.active.insert((scope, found)) {
            return Err(self.cycle(user, found));
        }
        let term = self.resolve(scope, found);
        self.active.remove(&(scope, found));
        term?.ok_or_else(|| self.no_output(graph, name, user))
    }

    fn cycle(&self, user: Id, node: Id) -> Error {
        let label = self.document.label(node);
        self.document.error(user, format!("{label} depends on itself"), "remove the cycle")
    }

    /// An output of a node.
    pub fn node(&mut self, scope: Scope, node: Id, output: &str, user: Id) -> Result<Term, Error> {
        let key = (scope, node, output.to_owned());
        if let Some(term) = self.values.get(&key) {
            return Ok(term.clone());
        }
        let document = self.document;
        if self.active.len() >= MAX_CHAIN {
            return Err(document.error(
                node,
                format!("more than {MAX_CHAIN} nodes are connected in a chain"),
                "simplify the graph",
            ));
        }
        if !self.active.insert((scope, node)) {
            return Err(self.cycle(user, node));
        }
        let term = self.evaluate(scope, node, output, user);
        self.active.remove(&(scope, node));
        let term = term?;
        self.values.insert(key, term.clone());
        Ok(term)
    }

    fn evaluate(&mut self, scope: Scope, node: Id, output: &str, user: Id) -> Result<Term, Error> {
        let document = self.document;
        match document.category(node) {
            "nodegraph" => return self.graph_output(node, output, user),
            "output" => {
                let missing = || document.error(node, "the output has no value", "connect it");
                return self.resolve(scope, node)?.ok_or_else(missing);
            }
            _ => {}
        }
        if let Some((definition, graph)) = self.definition(node)? {
            self.check_inputs(node, definition);
            let interface = Interface::Node { scope, node, definition };
            let inner = self.scope((scope, node), interface);
            return self.output(inner, graph, output, user);
        }
        self.warn_of_duplicate_inputs(node);
        nodes::evaluate(self, scope, node, output)
    }

    /// The definition of a node in the document, and the graph that implements it.
    fn definition(&self, node: Id) -> Result<Option<(Id, Id)>, Error> {
        let document = self.document;
        let category = document.category(node);
        let named = document.attribute(node, "nodedef");
        let children = || document.children(document.root());
        let fits = |&definition: &Id| {
            document.category(definition) == "nodedef"
                && document.attribute(definition, "node") == Some(category)
                && named.is_none_or(|name| name == document.name(definition))
                && self.has_type_of(definition, node)
        };
        let Some(definition) = children().find(fits) else { return Ok(None) };
        let name = document.name(definition);
        let implements = |&graph: &Id| document.attribute(graph, "nodedef") == Some(name);
        let graph = children().filter(implements).find_map(|id| {
            match (document.category(id), document.attribute(id, "nodegraph")) {
                ("nodegraph", _) => Some(id),
                ("implementation", Some(graph)) => document.child(document.root(), graph),
                _ => None,
            }
        });
        let graph = graph.ok_or_else(|| {
            document.error(
                definition,
                format!("{} is not implemented as a node graph", document.label(definition)),
                "add a <nodegraph> with this nodedef: source code in other languages is not used",
            )
        })?;
        Ok(Some((definition, graph)))
    }

    /// Whether the output of a definition has the type of a node.
    fn has_type_of(&self, definition: Id, node: Id) -> bool {
        let document = self.document;
        let ty = document.attribute(node, "type");
        let mut outputs =
            document.children(definition).filter(|&c| document.category(c) == "output");
        ty.is_none()
            || ty == Some("multioutput")
            || outputs.any(|output| document.attribute(output, "type") == ty)
    }

    /// Adds a `let` for an expression, named like a node.
    pub fn bind(&mut self, node: Id, ty: Type, expression: String) -> Result<Term, Error> {
        self.bind_named(self.document.name(node), node, ty, expression)
    }

    /// As `bind`, for a part of a node, which its name says.
    pub fn bind_as(
        &mut self,
        part: &str,
        node: Id,
        ty: Type,
        expression: String,
    ) -> Result<Term, Error> {
        self.bind_named(&format!("{}_{part}", self.document.name(node)), node, ty, expression)
    }

    fn bind_named(
        &mut self,
        like: &str,
        node: Id,
        ty: Type,
        expression: String,
    ) -> Result<Term, Error> {
        if self.statements.len() == MAX_STATEMENTS {
            return Err(self.document.error(
                node,
                format!(
                    "the graph has more than {MAX_STATEMENTS} nodes, with those of definitions"
                ),
                "simplify the graph",
            ));
        }
        let name = self.names.unique(like);
        self.statements.push(format!("let {name} = {expression};"));
        Ok(Term::expression(ty, name))
    }

    /// Adds the file of an image that an input names, unless another one did.
    pub fn add_file(&mut self, input: Id, file: &str) {
        if self.files.iter().all(|known| known.file != file) {
            let location = self.document.location(input);
            self.files.push(ImageFile { file: file.to_owned(), location });
        }
    }

    /// Adds an image, and returns its name in the program. Nodes share equal ones.
    pub fn texture(&mut self, node: Id, texture: Texture) -> String {
        let unnamed = |other: &Texture| {
            let tiles = other.tiles.as_ref().map(|_| String::new());
            Texture { name: String::new(), tiles, ..other.clone() }
        };
        let same = |other: &&Texture| unnamed(other) == texture;
        if let Some(known) = self.textures.iter().find(same) {
            return known.name.clone();
        }
        let stem = texture.file.rsplit('/').next().unwrap_or_default();
        let stem = stem.split('.').next().unwrap_or_default();
        let like = if stem.is_empty() { self.document.name(node) } else { stem };
        let name = self.names.unique_with(like, "_sampler");
        let tiles = texture.tiles.is_some().then(|| self.tiles(&name));
        self.textures.push(Texture { name: name.clone(), tiles, ..texture });
        name
    }
}

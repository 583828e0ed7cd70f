//! Snapshot of the public items of the core: a change of the API is a deliberate act.
//!
//! The sources say what is public. (Every `pub` item can be reached from outside: the compiler warns of any other,
//! `unreachable_pub`.) An item stands under the module that declares it, and under every `pub use` that gives it
//! another path. Implementations of traits are not listed.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use quote::ToTokens;
use syn::{
    Attribute, Fields, Ident, ImplItem, Item, ItemMod, LitStr, Token, TraitItem, Type, Visibility, braced,
    parse::{ParseStream, Parser},
};

const SNAPSHOT: &str = "tests/public_api.txt";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Rust with usual spaces, from tokens with a space between any two.
fn spaced(tokens: impl ToTokens) -> String {
    let tight = ["::", "<", ">", "(", ")", "[", "]", ",", ":", "&", ";", "'", "?", "!"];
    let mut text = tokens.to_token_stream().to_string();
    for mark in tight {
        text = text.replace(&format!(" {mark}"), mark).replace(&format!("{mark} "), mark);
    }
    // Marks with a space after them or on both sides.
    for (from, to) in [(",", ", "), (":", ": "), (": : ", "::"), (";", "; "), ("->", " -> "), ("> {", ">{")] {
        text = text.replace(from, to);
    }
    text.replace("  ", " ").replace(" - > ", " -> ")
}

/// True if an item is hidden from the documentation, or only in builds of tests or of fewer features.
fn left_out(attributes: &[Attribute]) -> bool {
    if attributes.iter().any(|a| a.path().is_ident("doc") && a.meta.to_token_stream().to_string().contains("hidden")) {
        return true;
    }
    let conditions =
        attributes.iter().filter(|a| a.path().is_ident("cfg")).map(|a| a.meta.to_token_stream().to_string());
    conditions.into_iter().any(|condition| condition.contains("test") || condition.contains("not (feature"))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Declaration by `keys!`: a table of a model file and the rows of its keys.
struct KeyTable {
    name: String,
    rows: Ident,
    key: Ident,
    fields: Vec<(Ident, Type)>,
}

/// Reads the argument of `keys!`.
fn keys(input: ParseStream) -> syn::Result<KeyTable> {
    input.call(Attribute::parse_outer)?;
    let name: Ident = input.parse()?;
    input.parse::<Token![,]>()?;
    let visibility: Visibility = input.parse()?;
    input.parse::<Token![,]>()?;
    input.call(Attribute::parse_outer)?;
    let rows = input.parse()?;
    input.parse::<Token![:]>()?;
    let key = input.parse()?;
    let inner;
    braced!(inner in input);
    let mut fields = Vec::new();
    while !inner.is_empty() {
        inner.call(Attribute::parse_outer)?;
        let field = inner.parse()?;
        inner.parse::<Token![:]>()?;
        fields.push((field, inner.parse()?));
        inner.parse::<Token![=]>()?;
        inner.parse::<LitStr>()?;
        let row;
        braced!(row in inner);
        row.step(|at| {
            let mut rest = *at;
            while let Some((_, next)) = rest.token_tree() {
                rest = next;
            }
            Ok(((), rest))
        })?;
    }
    fields.retain(|_| is_public(&visibility));
    Ok(KeyTable { name: name.to_string(), rows, key, fields })
}

/// Public items found, one per line.
#[derive(Default)]
struct Api {
    lines: BTreeSet<String>,
}

impl Api {
    fn add(&mut self, module: &str, kind: &str, rest: impl AsRef<str>) {
        let rest = rest.as_ref();
        self.lines.insert(format!("{module}: {kind} {rest}"));
    }

    /// Adds the items of a file, whose own modules are below `folder`.
    fn file(&mut self, file: &Path, folder: &Path, module: &str) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.items(&parsed.items, folder, module);
    }

    fn items(&mut self, items: &[Item], folder: &Path, module: &str) {
        for item in items {
            self.item(item, folder, module);
        }
    }

    fn item(&mut self, item: &Item, folder: &Path, module: &str) {
        match item {
            Item::Mod(inner) if !left_out(&inner.attrs) => self.module(inner, folder, module),
            Item::Fn(f) if is_public(&f.vis) => self.add(module, "fn", function(&f.sig)),
            Item::Struct(s) if is_public(&s.vis) => {
                let name = format!("{}{}", s.ident, spaced(&s.generics));
                self.add(module, "struct", &name);
                self.fields(module, &name, &s.fields);
            }
            Item::Enum(e) if is_public(&e.vis) => {
                let name = format!("{}{}", e.ident, spaced(&e.generics));
                let variants: Vec<String> = e.variants.iter().map(variant).collect();
                self.add(module, "enum", format!("{name} {{ {} }}", variants.join(", ")));
            }
            Item::Trait(t) if is_public(&t.vis) => {
                self.add(module, "trait", t.ident.to_string());
                for item in &t.items {
                    if let TraitItem::Fn(f) = item {
                        self.add(module, "fn", format!("{}::{}", t.ident, function(&f.sig)));
                    }
                }
            }
            Item::Const(c) if is_public(&c.vis) => self.add(module, "const", format!("{}: {}", c.ident, spaced(&c.ty))),
            Item::Static(s) if is_public(&s.vis) => {
                self.add(module, "static", format!("{}: {}", s.ident, spaced(&s.ty)))
            }
            Item::Type(t) if is_public(&t.vis) => self.add(module, "type", format!("{} = {}", t.ident, spaced(&t.ty))),
            Item::Use(u) if is_public(&u.vis) && !left_out(&u.attrs) => self.add(module, "use", spaced(&u.tree)),
            Item::Macro(m) if m.mac.path.is_ident("keys") => {
                let table = keys.parse2(m.mac.tokens.clone()).expect("a table of keys");
                self.add(module, "struct", &table.name);
                self.add(module, "const", format!("{}: &[{}]", table.rows, table.key));
                for (field, kind) in table.fields {
                    self.add(module, "field", format!("{}.{field}: {}", table.name, spaced(kind)));
                }
            }
            Item::Macro(m) if m.mac.path.is_ident("words") => {
                let text = m.mac.tokens.to_string();
                if let Some(name) = text
                    .strip_prefix("named pub ")
                    .filter(|rest| !rest.starts_with('('))
                    .and_then(|rest| rest.split([' ', ':']).next())
                {
                    self.add(module, "fn", format!("{name}::name(self) -> &'static str"));
                }
            }
            Item::Macro(m) if m.mac.path.is_ident("named") => {
                let text = m.mac.tokens.to_string();
                if let Some((name, rows)) = text.split("pub enum ").nth(1).and_then(|text| text.split_once(" {")) {
                    let variants =
                        rows.split(';').filter_map(|row| row.trim().split_once(" = ")).map(|(variant, _)| variant);
                    let variants: Vec<&str> = variants.filter(|text| text.chars().all(char::is_alphanumeric)).collect();
                    self.add(module, "enum", format!("{name} {{ {} }}", variants.join(", ")));
                }
            }
            Item::Impl(i) if i.trait_.is_none() => {
                let owner = spaced(&i.self_ty);
                for item in &i.items {
                    match item {
                        ImplItem::Fn(f) if is_public(&f.vis) => {
                            self.add(module, "fn", format!("{owner}::{}", function(&f.sig)));
                        }
                        ImplItem::Const(c) if is_public(&c.vis) => {
                            self.add(module, "const", format!("{owner}::{}: {}", c.ident, spaced(&c.ty)));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn module(&mut self, inner: &ItemMod, folder: &Path, module: &str) {
        let name = inner.ident.to_string();
        let path = if module == "tcnum_core" { name.clone() } else { format!("{module}::{name}") };
        if is_public(&inner.vis) {
            self.add(module, "mod", &name);
        }
        match &inner.content {
            Some((_, items)) => self.items(items, &folder.join(&name), &path),
            None => {
                let (plain, nested) = (folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs"));
                self.file(if plain.exists() { &plain } else { &nested }, &folder.join(&name), &path);
            }
        }
    }

    fn fields(&mut self, module: &str, owner: &str, fields: &Fields) {
        for (at, field) in fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis)) {
            let name = field.ident.as_ref().map_or(at.to_string(), ToString::to_string);
            self.add(module, "field", format!("{owner}.{name}: {}", spaced(&field.ty)));
        }
    }
}

/// Variant with the types of its fields: `Found { at: usize }`.
fn variant(variant: &syn::Variant) -> String {
    let type_of = |field: &syn::Field| match &field.ident {
        Some(name) => format!("{name}: {}", spaced(&field.ty)),
        None => spaced(&field.ty),
    };
    let types: Vec<String> = variant.fields.iter().map(type_of).collect();
    match variant.fields {
        Fields::Unit => variant.ident.to_string(),
        Fields::Unnamed(_) => format!("{}({})", variant.ident, types.join(", ")),
        Fields::Named(_) => format!("{} {{ {} }}", variant.ident, types.join(", ")),
    }
}

/// Function without the keyword: `name(x: u8) -> u8`.
fn function(signature: &syn::Signature) -> String {
    let text = spaced(signature);
    text.strip_prefix("fn ").map_or(text.clone(), String::from)
}

#[test]
fn the_public_items_are_those_that_were_agreed_on() {
    let mut api = Api::default();
    api.file(&repository("src/lib.rs"), &repository("src"), "tcnum_core");
    let now: String = api.lines.iter().map(|line| format!("{line}\n")).collect();
    assert!(api.lines.len() > 300, "{} items", api.lines.len());
    if std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some() {
        fs::write(repository(SNAPSHOT), &now).unwrap();
        return;
    }
    let agreed = fs::read_to_string(repository(SNAPSHOT)).unwrap();
    let agreed: BTreeSet<String> = agreed.lines().map(String::from).collect();
    let (gone, new): (Vec<_>, Vec<_>) =
        (agreed.difference(&api.lines).cloned().collect(), api.lines.difference(&agreed).cloned().collect());
    assert!(
        gone.is_empty() && new.is_empty(),
        "the public API changed; if that is meant, say so in CHANGELOG.md, set TCNUM_WRITE_SNAPSHOTS and run this test again\n\
         gone:\n  {}\nnew:\n  {}",
        gone.join("\n  "),
        new.join("\n  ")
    );
}

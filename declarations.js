// Cuts tsc's declarations down to what users can reach: the statements that the exported names lead to, with the comments of
// those that users see. All declarations are larger than the bundle.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/**
 * @param {string[]} entries files whose exports are public
 * @returns {Map<string, string>} the text of each file that is needed
 */
export function reachable(entries) {
  const files = new Map();
  const open = (path) => {
    if (!files.has(path)) files.set(path, new Declarations(path, open));
    return files.get(path);
  };
  for (const entry of entries) open(entry).needAll(true);
  return new Map(
    [...files]
      .filter(([path, file]) => file.isNeeded || entries.includes(path))
      .map(([path, file]) => [path, file.text()]),
  );
}

const nameOf = ({ name, value }) => name ?? value;

/** One file. A name is needed, or shown as well: then its comments stay. */
class Declarations {
  /** The statements that declare a name. */
  #declared = new Map();
  /** Where names come from: a statement, the name there, and the file unless it is in another package. */
  #imported = new Map();
  #exported = new Map();
  #stars = [];
  /** The names of each statement of imports or exports that stay; for a declaration, whether it is shown. */
  #kept = new Map();

  constructor(path, open) {
    this.source = readFileSync(path, 'utf8');
    this.body = parseAst(this.source, { lang: 'dts' }).body;
    const fileOf = ({ source }) =>
      source?.value.startsWith('.')
        ? () => open(join(dirname(path), source.value.replace(/\.js$/, '.d.ts')))
        : undefined;
    for (const statement of this.body) {
      const { type, source, specifiers = [], declaration, exported } = statement;
      const origin = (specifier, name) => ({ statement, specifier, name, file: fileOf(statement) });
      if (type === 'ImportDeclaration') {
        for (const each of specifiers) {
          this.#imported.set(each.local.name, origin(each, each.imported ? nameOf(each.imported) : undefined));
        }
      } else if (type === 'ExportAllDeclaration') {
        if (exported) this.#exported.set(nameOf(exported), origin(statement));
        else this.#stars.push(origin(statement));
      } else if (source || specifiers.length > 0) {
        for (const each of specifiers) this.#exported.set(nameOf(each.exported), origin(each, nameOf(each.local)));
      } else this.#declare(declaration ?? statement, statement);
    }
    this.open = (name) => fileOf({ source: { value: name } })?.();
  }

  get isNeeded() {
    return this.#kept.size > 0;
  }

  #declare({ id, declarations = [{ id }] }, statement) {
    for (const { id } of declarations) {
      const name = id?.name ?? '';
      this.#declared.set(name, [...(this.#declared.get(name) ?? []), statement]);
    }
  }

  needAll(isShown) {
    for (const name of this.#exported.keys()) this.need(name, isShown);
    for (const [name, [{ type }]] of this.#declared) if (type.startsWith('Export')) this.#needOwn(name, isShown);
    for (const star of this.#stars) this.#follow(star, isShown);
  }

  /** Keeps what the file exports by a name. */
  need(name, isShown) {
    const origin = this.#exported.get(name);
    if (origin) this.#follow(origin, isShown);
    else if (this.#declared.has(name)) this.#needOwn(name, isShown);
    else for (const star of this.#stars) this.#follow(star, isShown, name);
  }

  #follow({ statement, specifier, file, name }, isShown, wanted = name) {
    this.#kept.set(statement, (this.#kept.get(statement) ?? new Set()).add(specifier));
    if (!statement.source) this.#needOwn(name, isShown);
    else if (wanted === undefined) file?.().needAll(isShown);
    else file?.().need(wanted, isShown);
  }

  /** Keeps what a name means within the file, if it is not global. */
  #needOwn(name, isShown) {
    if (this.#imported.has(name)) return this.#follow(this.#imported.get(name), isShown);
    for (const statement of this.#declared.get(name) ?? []) {
      const known = this.#kept.get(statement);
      if (known || (known === false && !isShown)) continue;
      this.#kept.set(statement, isShown);
      this.#visit(statement.declaration ?? statement, isShown);
    }
  }

  /** Follows the names in a declaration. Users see what an interface has, and what a class inherits. */
  #visit(node, isShown) {
    if (Array.isArray(node)) for (const each of node) this.#visit(each, isShown);
    if (typeof node?.type !== 'string') return;
    if (node.type === 'Identifier') this.#needOwn(node.name, isShown);
    if (node.type === 'TSImportType') this.open(node.source.value)?.need(node.qualifier.name, false);
    for (const [key, child] of Object.entries(node)) {
      if (typeof child === 'object')
        this.#visit(child, isShown && !(node.type === 'ClassDeclaration' && key === 'body'));
    }
  }

  text() {
    let end = 0;
    const parts = [];
    for (const statement of this.body) {
      const comment = this.source.slice(end, statement.start);
      const code = this.source.slice(statement.start, statement.end);
      end = statement.end;
      const kept = this.#kept.get(statement);
      if (kept instanceof Set) {
        const names = statement.specifiers?.filter((each) => kept.has(each) && each.type.endsWith('portSpecifier'));
        const list = names?.map(({ start, end }) => this.source.slice(start, end)).join(', ');
        parts.push(list ? code.replace(/\{[^}]*\}/, `{ ${list} }`) : code);
      } else if (kept !== undefined) {
        const own = this.#withoutPrivate(statement);
        parts.push(kept ? (comment + own).trim() : own.replace(/[ \t]*\/\*\*.*?\*\/\n?/gs, ''));
      }
    }
    return `${parts.join('\n')}\nexport {};\n`;
  }

  /** A class without its private members, which count as one. */
  #withoutPrivate({ start, end, declaration }) {
    let text = this.source.slice(start, end);
    const members = declaration?.type === 'ClassDeclaration' ? declaration.body.body : [];
    const hidden = members.filter(
      ({ accessibility, type }) => accessibility === 'private' && type === 'PropertyDefinition',
    );
    for (const [index, member] of [...hidden].reverse().entries()) {
      const from = this.source.slice(0, member.start).replace(/(\/\*\*(?:(?!\*\/).)*\*\/)?\s*$/s, '').length;
      text = text.slice(0, from - start) + (index === 0 ? ' #private;' : '') + text.slice(member.end - start);
    }
    return text;
  }
}

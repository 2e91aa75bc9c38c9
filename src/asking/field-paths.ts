import { type Expr, isOptional, type Type, unescapeIdentifier, walk } from '@annex/cel';

/** The fields that expressions read, as a tree of keys. */
export class FieldTree {
  readonly children: FieldTree[] = [];
  /** True if the whole value is read. */
  whole = false;
  readonly keyBytes: Uint8Array;

  constructor(readonly key: string) {
    this.keyBytes = Buffer.from(key);
  }

  private count: number | undefined;

  /** The number of values that are read. The tree must be complete. */
  get leaves(): number {
    return (this.count ??= this.whole ? 1 : this.children.reduce((sum, child) => sum + child.leaves, 0));
  }

  add(path: readonly string[]): void {
    const [key, ...rest] = path;
    if (key === undefined) {
      this.whole = true;
      this.children.length = 0;
    } else if (!this.whole) {
      let child = this.children.find((known) => known.key === key);
      if (child === undefined) this.children.push((child = new FieldTree(key)));
      child.add(rest);
    }
  }
}

/** Returns the fields of `object` that an expression reads; undefined if it reads the whole object, or what it reads is not known. */
export function fieldsOf(expr: Expr): FieldTree | undefined {
  const root = new FieldTree('');
  return !hidesObject(expr) && collect(expr, root) && !root.whole ? root : undefined;
}

/** Reports whether a loop has a variable of the same name. */
function hidesObject(expr: Expr): boolean {
  let hides = false;
  walk(expr, (node) => {
    if (node.kind !== 'comprehension') return;
    hides ||= [node.iterVar, node.iterVar2, node.accuVar].includes(OBJECT);
  });
  return hides;
}

const OBJECT = 'object';

/** A chain of fields that begins at `object`, or something else. A key that cannot be told is undefined. */
type Path = readonly (string | undefined)[] | undefined;

function collect(expr: Expr, root: FieldTree): boolean {
  const path = pathOf(expr);
  if (path === undefined) return partsOf(expr).every((part) => collect(part, root));
  // What JSON objects inherit cannot be cut out.
  if (path.some((key) => key === undefined || key === '__proto__')) return false;
  root.add(path as readonly string[]);
  return true;
}

function pathOf(expr: Expr): Path {
  if (expr.kind === 'ident') return expr.name === OBJECT ? [] : undefined;
  if (expr.kind === 'select' && expr.resolved === undefined) return extended(expr.operand, expr.field, 'field');
  if (expr.kind !== 'call') return undefined;
  const [operand, index] = expr.args;
  if (expr.target !== undefined || operand === undefined || index?.kind !== 'literal') return undefined;
  const { value } = index;
  if (typeof value !== 'string') return undefined;
  if (expr.name === '_?._') return extended(operand, value, 'field');
  return expr.name === '_[_]' || expr.name === '_[?_]' ? extended(operand, value, 'index') : undefined;
}

function extended(operand: Expr, name: string, access: 'field' | 'index'): Path {
  const path = pathOf(operand);
  if (path === undefined) return undefined;
  const { kind } = contentOf(operand.type);
  if (kind === 'map') return [...path, name];
  return [...path, kind === 'struct' && access === 'field' ? unescapeIdentifier(name) : undefined];
}

function contentOf(type: Type | undefined): { readonly kind: string | undefined } {
  if (type === undefined) return { kind: undefined };
  return isOptional(type) ? contentOf(type.elem) : type;
}

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return expr.fields.map(({ value }) => value);
    case 'comprehension':
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

import { newRequestEntityTooLarge } from '../meta/errors.js';
import { JsonError } from '../json/syntax.js';
import { yamlProblem } from './cursor.js';
import { type Token, YamlScanner } from './scanner.js';

interface Common {
  /** The line, from 0. */
  readonly line: number;
  /** The full tag; empty without one. */
  readonly tag: string;
}
export interface ScalarNode extends Common {
  readonly kind: 'scalar';
  readonly value: string;
  /** True without quotes and tag: the text determines the type. */
  readonly plain: boolean;
}
interface SequenceNode extends Common {
  readonly kind: 'sequence';
  readonly items: YamlNode[];
}
/** A mapping; its items are keys and values in turn. */
interface MappingNode extends Common {
  readonly kind: 'mapping';
  readonly items: YamlNode[];
}
export interface AliasNode {
  readonly kind: 'alias';
  readonly line: number;
  readonly name: string;
  readonly target: YamlNode;
}
export type YamlNode = ScalarNode | SequenceNode | MappingNode | AliasNode;

/** The maximum number of nodes. They take about 100 MB, and as much again as JSON. */
const MAX_NODES = 500_000;

/** The collections that may begin: flow ones only, block ones too, or also a sequence that is not indented. */
type Allowed = 'flow' | 'block' | 'indentless';

/** An open collection. Its state determines what may come next. */
interface Open {
  readonly node: SequenceNode | MappingNode;
  readonly style: 'block' | 'indentless' | 'flow' | 'pair';
  readonly line: number;
  /** True before the first step. */
  first: boolean;
  /** True if the last item of a flow mapping was read as a key, not as a value alone. */
  keyed: boolean;
}

const ENDS_BLOCK: ReadonlySet<string> = new Set(['key', 'value', 'block-end']);

/** Builds the first document of a text from its tokens, by libyaml's grammar. */
class DocumentReader {
  private readonly scanner: YamlScanner;
  private readonly handles = new Map<string, string>();
  private readonly anchors = new Map<string, YamlNode>();
  private readonly open: Open[] = [];
  private nodes = 0;

  constructor(
    text: string,
    private readonly maxNodes: number,
  ) {
    this.scanner = new YamlScanner(text);
  }

  /** Returns the root node; undefined if there is nothing but comments. */
  read(): YamlNode | undefined {
    const { scanner } = this;
    let token = scanner.peek();
    const explicit = token.type === 'directive' || token.type === 'document-start';
    if (token.type === 'stream-end') return undefined;
    this.directives();
    if (explicit) {
      token = scanner.peek();
      if (token.type !== 'document-start') throw problem('did not find expected <document start>', token);
      scanner.take();
      token = scanner.peek();
      if (['directive', 'document-start', 'document-end', 'stream-end'].includes(token.type))
        return this.empty(token.line);
    }
    const root = this.node('block');
    while (this.open.length > 0) this.step(this.open[this.open.length - 1] as Open);
    // Nothing that follows is read, except for the token that shows the end.
    scanner.peek();
    return root;
  }

  private directives(): void {
    const { scanner, handles } = this;
    let version = false;
    for (let token = scanner.peek(); token.type === 'directive'; token = scanner.peek()) {
      const { directive } = token;
      if (directive.name === 'YAML') {
        if (version) throw problem('found duplicate %YAML directive', token);
        if (directive.major !== 1 || directive.minor !== 1) throw problem('found incompatible YAML document', token);
        version = true;
      } else {
        if (handles.has(directive.handle)) throw problem('found duplicate %TAG directive', token);
        handles.set(directive.handle, directive.prefix);
      }
      scanner.take();
    }
    if (!handles.has('!')) handles.set('!', '!');
    if (!handles.has('!!')) handles.set('!!', 'tag:yaml.org,2002:');
  }

  private empty(line: number): ScalarNode {
    return this.count({ kind: 'scalar', line, tag: '', value: '', plain: true });
  }

  private count<T extends YamlNode>(node: T): T {
    if (++this.nodes > this.maxNodes) {
      throw newRequestEntityTooLarge(
        'the YAML has too many members to be decoded; JSON may be as large as the limit allows',
      );
    }
    return node;
  }

  /** Reads the next node. A collection is left open. */
  private node(allowed: Allowed): YamlNode {
    const { scanner } = this;
    let token = scanner.peek();
    if (token.type === 'alias') return this.alias(token.name, token.line);
    const { line } = token;
    let anchor: string | undefined;
    let tagged: (Token & { readonly type: 'tag' }) | undefined;
    for (let i = 0; i < 2; i++) {
      if (token.type === 'anchor' && anchor === undefined) anchor = token.name;
      else if (token.type === 'tag' && tagged === undefined) tagged = token;
      else break;
      scanner.take();
      token = scanner.peek();
    }
    const tag = tagged === undefined ? '' : this.fullTag(tagged, line);
    const node = this.content(token, { line, tag }, allowed, anchor !== undefined);
    if (anchor !== undefined) this.anchors.set(anchor, node);
    return node;
  }

  private alias(name: string, line: number): AliasNode {
    const target = this.anchors.get(name);
    if (target === undefined) throw new JsonError(`yaml: unknown anchor '${name}' referenced`);
    this.scanner.take();
    return this.count({ kind: 'alias', line, name, target });
  }

  private fullTag({ tag: { handle, suffix }, line }: Token & { readonly type: 'tag' }, start: number): string {
    if (handle === '') return suffix;
    const prefix = this.handles.get(handle);
    if (prefix === undefined) throw yamlProblem('found undefined tag handle', line, start, 'parser');
    return prefix + suffix;
  }

  private content(
    token: Token,
    common: Common,
    allowed: Allowed,
    anchored: boolean,
  ): ScalarNode | SequenceNode | MappingNode {
    const { type } = token;
    const { tag } = common;
    if (type === 'scalar') {
      this.scanner.take();
      const plain = tag === '!' || (tag === '' && token.plain);
      return this.count({ kind: 'scalar', ...common, value: token.value, plain });
    }
    const sequence = (style: Open['style']): SequenceNode =>
      this.begin({ kind: 'sequence', ...common, items: [] }, style, token);
    const mapping = (style: Open['style']): MappingNode =>
      this.begin({ kind: 'mapping', ...common, items: [] }, style, token);
    if (allowed === 'indentless' && type === 'block-entry') return sequence('indentless');
    if (type === 'flow-sequence') return sequence('flow');
    if (type === 'flow-mapping') return mapping('flow');
    if (allowed !== 'flow' && type === 'block-sequence') return sequence('block');
    if (allowed !== 'flow' && type === 'block-mapping') return mapping('block');
    if (anchored || tag !== '') return this.count({ kind: 'scalar', ...common, value: '', plain: tag === '' });
    throw yamlProblem('did not find expected node content', token.line, common.line, 'parser');
  }

  private begin<T extends SequenceNode | MappingNode>(node: T, style: Open['style'], token: Token): T {
    this.count(node);
    if (style !== 'indentless') this.scanner.take();
    this.open.push({ node, style, line: token.line, first: true, keyed: false });
    return node;
  }

  private end(): void {
    this.open.pop();
  }

  private step(open: Open): void {
    const { node, style } = open;
    if (node.kind === 'sequence') {
      if (style === 'flow') this.flowSequence(open, node);
      else if (style === 'block') this.blockSequence(open, node);
      else this.indentlessSequence(node);
    } else if (style === 'flow') this.flowMapping(open, node);
    else if (style === 'pair') this.flowPair(node);
    else this.blockMapping(open, node);
    open.first = false;
  }

  private blockSequence({ line }: Open, { items }: SequenceNode): void {
    const { scanner } = this;
    const token = scanner.take();
    if (token.type === 'block-end') {
      this.end();
      return;
    }
    if (token.type !== 'block-entry')
      throw yamlProblem("did not find expected '-' indicator", token.line, line, 'parser');
    const next = scanner.peek();
    if (next.type === 'block-entry' || next.type === 'block-end') items.push(this.empty(token.line));
    else items.push(this.node('block'));
  }

  private indentlessSequence({ items }: SequenceNode): void {
    const { scanner } = this;
    if (scanner.peek().type !== 'block-entry') {
      this.end();
      return;
    }
    const token = scanner.take();
    const next = scanner.peek();
    if (next.type === 'block-entry' || ENDS_BLOCK.has(next.type)) items.push(this.empty(token.line));
    else items.push(this.node('block'));
  }

  private blockMapping({ line }: Open, { items }: MappingNode): void {
    const { scanner } = this;
    if (items.length % 2 === 1) {
      if (scanner.peek().type === 'value') this.blockMember(items, scanner.take());
      else items.push(this.empty(scanner.peek().line));
      return;
    }
    const token = scanner.take();
    if (token.type === 'block-end') this.end();
    else if (token.type === 'key') this.blockMember(items, token);
    else throw yamlProblem('did not find expected key', token.line, line, 'parser');
  }

  /** Reads what follows the indicator of a key or value. */
  private blockMember(items: YamlNode[], indicator: Token): void {
    if (ENDS_BLOCK.has(this.scanner.peek().type)) items.push(this.empty(indicator.line));
    else items.push(this.node('indentless'));
  }

  /** Reads the comma before any item but the first. Reports whether the collection continues. */
  private hasNextItem(open: Open, end: Token['type'], bracket: string): boolean {
    const { scanner } = this;
    if (scanner.peek().type !== end && !open.first) {
      const { type, line } = scanner.peek();
      if (type !== 'flow-entry') {
        throw yamlProblem(`did not find expected ',' or '${bracket}'`, line, open.line, 'parser');
      }
      scanner.take();
    }
    if (scanner.peek().type !== end) return true;
    scanner.take();
    this.end();
    return false;
  }

  private flowSequence(open: Open, { items }: SequenceNode): void {
    if (!this.hasNextItem(open, 'flow-sequence-end', ']')) return;
    const { scanner } = this;
    const token = scanner.peek();
    if (token.type !== 'key') {
      items.push(this.node('flow'));
      return;
    }
    items.push(this.begin({ kind: 'mapping', line: token.line, tag: '', items: [] }, 'pair', token));
  }

  /** Reads a single key with its value, which forms a mapping in a sequence. */
  private flowPair({ items }: MappingNode): void {
    const { scanner } = this;
    const isOver = (type: Token['type']): boolean => type === 'flow-entry' || type === 'flow-sequence-end';
    const token = scanner.peek();
    if (items.length === 0) {
      if (token.type !== 'value' && !isOver(token.type)) items.push(this.node('flow'));
      else {
        // The token is lost, as in Go.
        scanner.take();
        items.push(this.empty(token.line));
      }
    } else if (items.length === 1) {
      if (token.type === 'value') scanner.take();
      if (token.type === 'value' && !isOver(scanner.peek().type)) items.push(this.node('flow'));
      else items.push(this.empty(token.line));
    } else this.end();
  }

  private flowMapping(open: Open, { items }: MappingNode): void {
    const { scanner } = this;
    const isOver = (type: Token['type']): boolean => type === 'flow-entry' || type === 'flow-mapping-end';
    if (items.length % 2 === 1) {
      const token = scanner.peek();
      if (open.keyed && token.type === 'value') {
        scanner.take();
        if (!isOver(scanner.peek().type)) {
          items.push(this.node('flow'));
          return;
        }
      }
      items.push(this.empty(scanner.peek().line));
      return;
    }
    if (!this.hasNextItem(open, 'flow-mapping-end', '}')) return;
    open.keyed = scanner.peek().type === 'key';
    if (!open.keyed) {
      items.push(this.node('flow'));
      return;
    }
    scanner.take();
    const next = scanner.peek();
    if (next.type === 'value' || isOver(next.type)) items.push(this.empty(next.line));
    else items.push(this.node('flow'));
  }
}

const problem = (what: string, { line }: Token): JsonError => yamlProblem(what, line, 0, 'parser');

/** Reads the first document of a text. Throws JsonError with Go's message, and a Status if it would take too much memory. */
export const readYamlDocument = (text: string, maxNodes = MAX_NODES): YamlNode | undefined =>
  new DocumentReader(text.startsWith('\ufeff') ? text.slice(1) : text, maxNodes).read();

import { type DeclType, type Environment, type Program, SchemaTypes, type Type, types } from '@annex/cel';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { compileExpression } from '../../expressions/expression.js';
import { resolveFieldPath } from './field-path.js';
import type { Rule } from './rule.js';
import { trimSpace } from '../../util/text/trim-space.js';

/** The result of compiling one rule. */
export interface CompiledRule {
  readonly rule: Rule;
  /** Absent if the rule is blank or does not compile. */
  readonly program?: Program;
  readonly error?: string;
  readonly usesOldSelf: boolean;
  readonly messageProgram?: Program;
  readonly messageError?: string;
  /** The path of the field that the rule reports, relative to the rule's place; empty for the place itself. */
  readonly fieldPath: string;
}

/** Selects the environment of an expression: stored expressions may use more than new ones. */
export interface RuleEnvironments {
  rule(expression: string): Environment;
  messageExpression(expression: string): Environment;
}

let names = 0;

/** Creates a registry of object types with a unique name. */
export const newSchemaTypes = (): SchemaTypes => new SchemaTypes(`selfType${names++}`);

function withSelf(base: Environment, self: Type, optionalOld: boolean, registry: SchemaTypes): Environment {
  return base.extend(
    [
      { name: 'self', type: self },
      { name: 'oldSelf', type: optionalOld ? types.optionalOf(self) : self },
    ],
    (name) => registry.struct(name),
  );
}

/** The environments of a node, cached because they are the same for most of its rules. */
class NodeEnvironments {
  private readonly made = new Map<Environment, [Environment | undefined, Environment | undefined]>();

  constructor(
    private readonly self: DeclType,
    private readonly registry: SchemaTypes,
  ) {}

  /** Renames the types in a text by their path from the node, regardless of its parents. */
  relative(text: string): string {
    return text.replaceAll(this.self.path, this.registry.prefix);
  }

  get(base: Environment, optionalOld: boolean): Environment {
    let pair = this.made.get(base);
    if (pair === undefined) this.made.set(base, (pair = [undefined, undefined]));
    const at = optionalOld ? 1 : 0;
    return (pair[at] ??= withSelf(base, this.self.type, optionalOld, this.registry));
  }
}

/** Compiles the rules of one node, in order. */
export function compileNode(
  rules: readonly Rule[],
  schema: JsonObject,
  type: DeclType,
  registry: SchemaTypes,
  environments: RuleEnvironments,
): readonly CompiledRule[] {
  const node = new NodeEnvironments(type, registry);
  return rules.map((rule) => compileRule(rule, schema, node, environments));
}

function compileRule(
  rule: Rule,
  schema: JsonObject,
  node: NodeEnvironments,
  environments: RuleEnvironments,
): CompiledRule {
  if (trimSpace(rule.rule) === '') return { rule, usesOldSelf: false, fieldPath: '' };
  const optional = rule.optionalOldSelf === true;
  const environment = node.get(environments.rule(rule.rule), optional);
  const { program, checked, error = '' } = compileExpression(environment, rule.rule);
  const failed = (error: string, usesOldSelf = false): CompiledRule => ({ rule, error, usesOldSelf, fieldPath: '' });
  if (checked === undefined) return failed(node.relative(error));
  if (checked.outputType.kind !== 'bool') return failed('cel expression must evaluate to a bool');
  const usesOldSelf = checked.variables.has('oldSelf');
  if (program === undefined) return failed(error, usesOldSelf);
  const message = rule.messageExpression === '' ? {} : compileMessage(rule, optional, node, environments);
  return { rule, program, usesOldSelf, fieldPath: normalizedPath(rule, schema, message), ...message };
}

interface CompiledMessage {
  messageProgram?: Program;
  messageError?: string;
}

function compileMessage(
  rule: Rule,
  optional: boolean,
  node: NodeEnvironments,
  environments: RuleEnvironments,
): CompiledMessage {
  const base = environments.messageExpression(rule.messageExpression);
  const { program, checked, error = '' } = compileExpression(node.get(base, optional), rule.messageExpression);
  if (checked === undefined) return { messageError: `messageExpression ${node.relative(error)}` };
  if (checked.outputType.kind !== 'string') return { messageError: 'messageExpression must evaluate to a string' };
  if (program === undefined) return { messageError: `messageExpression ${error.replace(/^program /, '')}` };
  return { messageProgram: program };
}

/** Returns the normalized field path; empty if there is none, it is invalid, or the message does not compile. */
function normalizedPath(rule: Rule, schema: JsonObject, message: CompiledMessage): string {
  if (rule.fieldPath === '' || message.messageError !== undefined) return '';
  const resolved = resolveFieldPath(rule.fieldPath, schema);
  return resolved.error === undefined ? resolved.path.toString() : '';
}

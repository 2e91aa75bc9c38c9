import { type DeclType, type Environment, type Program, SchemaTypes, type Type, types } from '@annex/cel';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { resolveFieldPath } from './field-path.js';
import type { Rule } from './rule.js';
import { trimSpace } from '../../util/text/trim-space.js';

/** The cost that one evaluation of one expression may have. */
export const PER_CALL_LIMIT = 1_000_000;
/** The cost of all rules on one object. */
export const RUNTIME_BUDGET = 10_000_000;

/** What became of one rule. */
export interface CompiledRule {
  readonly rule: Rule;
  /** Absent if the rule is blank or does not compile. */
  readonly program?: Program;
  readonly error?: string;
  readonly usesOldSelf: boolean;
  readonly messageProgram?: Program;
  readonly messageError?: string;
  /** The path of the field the rule blames, relative to the rule's place; empty: the place itself. */
  readonly fieldPath: string;
}

/** Picks the environment of an expression: stored ones may use more than new ones. */
export interface RuleEnvironments {
  rule(expression: string): Environment;
  messageExpression(expression: string): Environment;
}

let names = 0;

/** A registry of object types under a name of its own. */
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

/** Environments are alike for most rules of a node, so they are made once. */
class NodeEnvironments {
  private readonly made = new Map<Environment, [Environment | undefined, Environment | undefined]>();

  constructor(
    private readonly self: DeclType,
    private readonly registry: SchemaTypes,
  ) {}

  /** Types are named by their path from the node, whatever is above it. */
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

/** Compiles the rules of one node, in their order. */
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
  const { program, failure } = node.get(environments.rule(rule.rule), optional).compile(rule.rule);
  const failed = (error: string, usesOldSelf = false): CompiledRule => ({ rule, error, usesOldSelf, fieldPath: '' });
  if (failure !== undefined) return failed(`compilation failed: ${node.relative(failure.text)}`);
  if (program.outputType.kind !== 'bool') return failed('cel expression must evaluate to a bool');
  const usesOldSelf = program.variables.has('oldSelf');
  const problem = program.planError;
  if (problem !== undefined) return failed(`program instantiation failed: ${problem}`, usesOldSelf);
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
  const { program, failure } = node.get(base, optional).compile(rule.messageExpression);
  if (failure !== undefined)
    return { messageError: `messageExpression compilation failed: ${node.relative(failure.text)}` };
  if (program.outputType.kind !== 'string') return { messageError: 'messageExpression must evaluate to a string' };
  const problem = program.planError;
  if (problem !== undefined) return { messageError: `messageExpression instantiation failed: ${problem}` };
  return { messageProgram: program };
}

/** The path is left alone if the message does not compile. */
function normalizedPath(rule: Rule, schema: JsonObject, message: CompiledMessage): string {
  if (rule.fieldPath === '' || message.messageError !== undefined) return '';
  const resolved = resolveFieldPath(rule.fieldPath, schema);
  return resolved.error === undefined ? resolved.path.toString() : '';
}

import { AnswerPending, fromJson, type Bindings, type Value } from '@annex/cel';
import { withFloats } from '../../apimachinery/json/float.js';
import { type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import type { AuthorizerValues } from './authorizer.js';
import { type CompiledExpression, type Evaluation, evaluateExpression } from '../../expressions/expression.js';
import { OUT_OF_BUDGET } from '../../expressions/limits.js';
import { LazyVariables, type Composition } from './variables.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const METADATA = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'finalizers',
];

const known = new WeakMap<JsonObject, JsonObject>();

/** Returns the fields of a namespace that expressions can read. */
function namespaceForExpressions(namespace: JsonObject): JsonObject {
  let seen = known.get(namespace);
  if (seen === undefined) {
    const metadata: JsonObject = {};
    const given = objectAt(namespace, 'metadata') ?? {};
    for (const key of METADATA) if (given[key] !== undefined) metadata[key] = given[key];
    seen = { metadata, spec: objectAt(namespace, 'spec') ?? {}, status: objectAt(namespace, 'status') ?? {} };
    known.set(namespace, seen);
  }
  return seen;
}

/** The input of the expressions of one policy or webhook for one request. */
export interface ActivationInput {
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
  /** Called when an expression first reads `request`. */
  readonly request: () => JsonObject;
  readonly params?: JsonObject | undefined;
  readonly namespace?: JsonObject | undefined;
  readonly authorizer?: (() => AuthorizerValues) | undefined;
  readonly composition?: Composition | undefined;
}

const valueOf = (json: JsonObject | undefined): Value => (json === undefined ? null : fromJson(withFloats(json)));

/** The variables by name. Each value is created when an expression first reads it. */
class Variables {
  private known: Partial<Record<'object' | 'oldObject' | 'request' | 'params' | 'namespace', Value>> = {};

  constructor(
    private readonly input: ActivationInput,
    readonly variables: LazyVariables | undefined,
  ) {}

  get object(): Value {
    return (this.known.object ??= valueOf(this.input.object));
  }

  get oldObject(): Value {
    return (this.known.oldObject ??= valueOf(this.input.oldObject));
  }

  get request(): Value {
    return (this.known.request ??= fromJson(this.input.request()));
  }

  get params(): Value {
    return (this.known.params ??= valueOf(this.input.params));
  }

  get namespaceObject(): Value {
    const { namespace } = this.input;
    return (this.known.namespace ??= valueOf(namespace === undefined ? undefined : namespaceForExpressions(namespace)));
  }

  get authorizer(): Value | undefined {
    return this.input.authorizer?.().authorizer;
  }

  get 'authorizer.requestResource'(): Value | undefined {
    return this.input.authorizer?.().requestResource;
  }
}

/** The budget is exhausted: no further expressions are evaluated. */
export class BudgetExceeded extends Error {
  constructor() {
    super(OUT_OF_BUDGET);
  }
}

/** Evaluates the expressions of one policy or webhook for one request. Variables are evaluated once and shared. */
export class Activation {
  private readonly bindings: Bindings;
  private readonly variables: LazyVariables | undefined;

  constructor(
    input: ActivationInput,
    /** The remaining cost budget. */
    public budget: number,
  ) {
    const { composition } = input;
    this.variables =
      composition === undefined ? undefined : new LazyVariables(composition, (): Bindings => this.bindings);
    this.bindings = new Variables(input, this.variables) as unknown as Bindings;
  }

  /** Throws BudgetExceeded, and AnswerPending while a decision of the authorizer is outstanding. */
  evaluate(expression: CompiledExpression): Evaluation {
    const evaluation = evaluateExpression(expression, this.bindings);
    this.pay(this.variables?.takeCost() ?? 0);
    this.pay(evaluation.cost);
    return evaluation;
  }

  private pay(cost: number): void {
    if (cost > this.budget) {
      this.budget = -1;
      throw new BudgetExceeded();
    }
    this.budget -= cost;
  }
}

/** Evaluates, and repeats that each time a pending decision of the authorizer has arrived. The cost limits bound the repetitions. */
export function settled<T>(evaluate: () => T): MaybePromise<T> {
  try {
    return evaluate();
  } catch (error) {
    if (!(error instanceof AnswerPending)) throw error;
    return error.answer.then(() => settled(evaluate));
  }
}

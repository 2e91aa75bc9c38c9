import { fn, overload } from '../declarations.js';
import type { Library } from './library.js';
import { contains } from '../evaluator/operators.js';
import { BOOL, listOf, paramType } from '../types.js';
import type { Value } from '../values/value.js';
import { CelList, NO_SUCH_OVERLOAD } from '../values/value.js';

const LIST = listOf(paramType('T'));

function holdsAll(list: CelList, part: CelList): boolean {
  for (const item of part) if (contains(list, item) !== true) return false;
  return true;
}

function intersects(a: CelList, b: CelList): boolean {
  for (const item of a) if (contains(b, item) === true) return true;
  return false;
}

const onLists =
  (run: (a: CelList, b: CelList) => boolean) =>
  (a?: Value, b?: Value): Value =>
    a instanceof CelList && b instanceof CelList ? run(a, b) : NO_SUCH_OVERLOAD;

export const SETS_LIBRARY: Library = {
  functions: [
    fn('sets.contains', overload('list_sets_contains_list', [LIST, LIST], BOOL, onLists(holdsAll))),
    fn(
      'sets.equivalent',
      overload(
        'list_sets_equivalent_list',
        [LIST, LIST],
        BOOL,
        onLists((a, b) => holdsAll(a, b) && holdsAll(b, a)),
      ),
    ),
    fn('sets.intersects', overload('list_sets_intersects_list', [LIST, LIST], BOOL, onLists(intersects))),
  ],
};

import type { JsonValue } from '../../../src/apimachinery/json/json.js';
import { newBadRequest } from '../../../src/apimachinery/meta/errors.js';
import type { ListParameter } from '../../../src/endpoints/handlers/request/list-parameters.js';

/** `atLeast=moons:2` selects objects of which a top-level field, or an entry of `data`, is a number of at least 2. */
export const atLeast: ListParameter = {
  name: 'atLeast',
  condition(value, served) {
    const [, field = '', least = ''] = /^(\w+):(\d+)$/.exec(value) ?? [];
    if (field === '') throw newBadRequest(`atLeast: ${JSON.stringify(value)} is not field:number`);
    return {
      id: `atLeast ${field} ${least}`,
      matches(object) {
        const shown = served.toObject(object);
        const data = shown['data'] as Readonly<Record<string, JsonValue>> | undefined;
        return Number(shown[field] ?? data?.[field] ?? -1) >= Number(least);
      },
    };
  },
};

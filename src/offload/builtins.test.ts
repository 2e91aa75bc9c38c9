import { loadProtobufCodec } from '../apimachinery/protobuf/load.js';
import { formatGroupVersion } from '../apimachinery/meta/meta.js';
import type { EscalationDependencies } from '../registry/builtin/rbac/escalation.js';
import { offloadableBuiltins } from './builtins.js';

test.each(offloadableBuiltins({} as EscalationDependencies).map((type) => [type.kind, type] as const))(
  '%s offers Protobuf where there is a message for it',
  (kind, { group, versions, noProtobuf = false }) => {
    const known = versions.map(({ name: version }) =>
      loadProtobufCodec().knows({ apiVersion: formatGroupVersion({ group, version }), kind }),
    );
    expect(known).toEqual([!noProtobuf]);
  },
);

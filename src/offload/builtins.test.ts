import { loadProtobufCodec } from '../apimachinery/protobuf/protobuf.js';
import { formatGroupVersion } from '../apimachinery/meta/meta.js';
import type { EscalationDependencies } from '../registry/builtin/rbac/escalation.js';
import { offloadableBuiltins } from './builtins.js';

const types = offloadableBuiltins({} as EscalationDependencies);

test('no stable version has a release that removes it', () => {
  const stable = types.flatMap(({ kind, versions }) =>
    versions.filter(({ name }) => /^v\d+$/.test(name)).map((version) => ({ kind, version })),
  );
  expect(stable.length).toBeGreaterThan(20);
  expect(stable.filter(({ version }) => version.lifecycle?.removed !== undefined)).toEqual([]);
});

test.each(types.map((type) => [type.kind, type] as const))(
  '%s offers Protobuf if a message for it exists',
  (kind, { group, versions, noProtobuf = false }) => {
    const known = versions.map(({ name: version }) =>
      loadProtobufCodec().knows({ apiVersion: formatGroupVersion({ group, version }), kind }),
    );
    expect(known).toEqual([!noProtobuf]);
  },
);

/** A mutation that cannot be applied; the failure policy of its policy decides. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}

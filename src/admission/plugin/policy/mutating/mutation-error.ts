/** A mutation that cannot be carried out: the failure policy of its policy decides. */
export class MutationError extends Error {
  override readonly name = 'MutationError';
}

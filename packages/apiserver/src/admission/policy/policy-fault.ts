/** A policy or a binding that cannot be evaluated as it is. The failure policy decides about the request. */
export class PolicyFault extends Error {
  override readonly name = 'PolicyFault';
}

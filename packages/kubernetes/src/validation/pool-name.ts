// Names of device pools, wherever one is named. Source: pkg/apis/resource/validation validatePoolName.
import { type Field, validateSubdomainSegments } from '@kapstan/apiserver/internal';

const maxBytes = 253;

/** Accepts domains separated by slashes. */
export function validatePoolName(at: Field, name: string): void {
  if (!at.present(name)) return;
  if (Buffer.byteLength(name) > maxBytes) at.tooLong(maxBytes);
  validateSubdomainSegments(at, name, (part, message) => at.invalid(part, message));
}

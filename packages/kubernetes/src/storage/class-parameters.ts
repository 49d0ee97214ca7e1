// Rules that storage classes and volume attributes classes share: provisioner and parameters. Source:
// pkg/apis/storage/validation validateProvisioner, validateParameters.
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;

export function validateProvisioner(at: Field, name: string): void {
  if (name === '') at.required();
  else at.invalidAll(name.toLowerCase(), qualifiedNameErrors(name.toLowerCase()));
}

/** Returns false when there are too many parameters to report further errors. */
export function validateParameters(at: Field, parameters: Readonly<Record<string, string>> | undefined): boolean {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > maxParameters) {
    at.tooLong(maxParameters);
    return false;
  }
  for (const [key] of entries) if (key === '') at.invalid(key, 'field can not be empty.');
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (bytes > maxParameterBytes) at.tooLong(maxParameterBytes);
  return true;
}

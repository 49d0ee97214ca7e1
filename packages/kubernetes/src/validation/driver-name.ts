// Names of CSI drivers, wherever one is named. Source: pkg/apis/core/validation ValidateCSIDriverName.
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';

const maxBytes = 63;

export function validateDriverName(at: Field, name: string | undefined): void {
  if (!at.present(name) || name === undefined) return;
  if (Buffer.byteLength(name) > maxBytes) at.tooLong(maxBytes);
  at.invalidAll(name, dnsSubdomainErrors(name.toLowerCase()));
}

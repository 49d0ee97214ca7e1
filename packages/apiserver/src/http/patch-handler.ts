// PATCH: JSON patch, merge patch, strategic merge patch, server-side apply. Source: apiserver handlers/patch.go.
import { newNotImplemented } from '@kapstan/api';
import { negotiateAnswer, type ResourceCall } from './resource-call.ts';

export async function handlePatch(call: ResourceCall): Promise<void> {
  negotiateAnswer(call);
  throw newNotImplemented('patches are not served yet');
}

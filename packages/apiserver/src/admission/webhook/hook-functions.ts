// Lets an AdmissionHook, a function of a program as the SDK declares it, admit requests in this process. Used by the test
// cluster and by servers that are embedded in such a program.
import type { KubernetesObject } from '@kapstan/api';
import type { AdmissionHook, AdmissionRequest } from '@kapstan/api/internal';
import {
  type AdmissionAnswer,
  type AdmissionFunction,
  type AdmissionFunctionCall,
  admit,
} from './admission-functions.ts';

/** Returns the function for {@link AdmissionFunctions}. */
export function admitWithHook(hook: AdmissionHook): AdmissionFunction {
  const { name, type, resource, rule } = hook;
  const review = (request: AdmissionRequest<KubernetesObject>, call: AdmissionFunctionCall): Promise<AdmissionAnswer> =>
    hook.review(request, call);
  // The SDK answers with a patch, so that the server treats both kinds alike.
  const { sideEffects: _sideEffects, ...options } = rule;
  return type === 'mutating'
    ? admit(resource, { name, ...options, mutate: review })
    : admit(resource, {
        name,
        ...options,
        validate: (request, call) => review(request as AdmissionRequest<KubernetesObject>, call),
      });
}

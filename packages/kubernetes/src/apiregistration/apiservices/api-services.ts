// API services, which name the server of each group version. The control plane acts on them.

import { type DeepReadonly, formatTime } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors, nameIsPathSegment, pathSegmentErrors } from '@kapstan/apiserver/internal';
import type { APIService, APIServiceCondition } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { portNumberErrors } from '../../validation/value-rules.ts';

export const apiServices = ({ clock }: Pick<BuiltinServer, 'clock'>): BuiltinKind<APIService> => ({
  id: 'apiregistration.k8s.io/v1/apiservices',
  hasGroupRoute: true,
  strategy: { updateMetadata: 'both', finalizerNames: 'Qualified' },
  validateName: nameIsPathSegment,
  setDefaults: ({ spec }) => {
    if (spec?.service !== undefined) spec.service.port ??= 443;
  },
  prepareForCreate: (object) => {
    // A local service is always available, so its condition is set here.
    if (object.spec?.service === undefined) object.status = { conditions: [localCondition(formatTime(clock.now()))] };
  },
  validate,
  status: {
    validate: (root, { status }) => {
      root.child('status', 'conditions').each(status?.conditions, (condition, place) => {
        place.child('status').oneOf(condition.status, ['True', 'False', 'Unknown']);
      });
    },
  },
});

function validate(root: Field, { metadata, spec }: DeepReadonly<APIService>): void {
  const at = root.child('spec');
  const { group = '', version = '' } = spec ?? {};
  // The name must be derived from the spec; generateName is checked in the same way.
  for (const name of ['generateName', 'name'] as const)
    validateName(root.child('metadata', name), metadata?.[name] ?? '', `${version}.${group}`);
  if (group === '' && version !== 'v1')
    at.child('group').required('only v1 may have an empty group and it better be legacy kube');
  if (group !== '') at.child('group').invalidAll(group, dnsSubdomainErrors(group));
  at.child('version').invalidAll(version, dns1035LabelErrors(version));
  for (const [name, max] of Object.entries(priorities)) {
    const value = spec?.[name as keyof typeof priorities] ?? 0;
    if (value <= 0 || value > max) at.child(name).invalid(value, `must be positive and less than ${max}`);
  }
  if (spec?.service === undefined) return validateLocal(at, spec ?? {});
  validateService(at.child('service'), spec.service);
  if (spec.insecureSkipTLSVerify === true && spec.caBundle)
    at.child('insecureSkipTLSVerify').invalid(true, 'may not be true if caBundle is present');
}

function localCondition(lastTransitionTime: string): APIServiceCondition {
  return {
    type: 'Available',
    status: 'True',
    lastTransitionTime: lastTransitionTime,
    reason: 'Local',
    message: 'Local APIServices are always available',
  };
}

const priorities = { groupPriorityMinimum: 20_000, versionPriority: 1000 } as const;

/** The generic rules alone report a name that is missing or cannot be in a path. */
function validateName(at: Field, name: string, required: string): void {
  if (name !== '' && pathSegmentErrors(name).length === 0 && name !== required)
    at.invalid(name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(required)}`);
}

type Spec = DeepReadonly<NonNullable<APIService['spec']>>;

/** Checks a service that this server serves itself. */
function validateLocal(at: Field, { caBundle = '', insecureSkipTLSVerify }: Partial<Spec>): void {
  const bytes = Buffer.byteLength(caBundle, 'base64');
  if (bytes > 0) at.child('caBundle').invalid(`${bytes} bytes`, 'local APIServices may not have a caBundle');
  if (insecureSkipTLSVerify === true)
    at.child('insecureSkipTLSVerify').invalid(true, 'local APIServices may not have insecureSkipTLSVerify');
}

function validateService(at: Field, service: NonNullable<Spec['service']>): void {
  at.child('namespace').present(service.namespace);
  at.child('name').present(service.name);
  const port = service.port ?? 0;
  const errors = portNumberErrors(port);
  if (errors.length > 0) at.child('port').invalid(port, `port is not valid: ${errors.join(', ')}`);
}

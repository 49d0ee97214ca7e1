// Rules for restarts of a container: its own policy, rules on exit codes, changes of its size. Source:
// pkg/apis/core/validation validateContainerRestartPolicy, validateResizePolicy.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container } from '@kapstan/kinds/core/v1';

const policies = ['Always', 'Never', 'OnFailure'];
const actions = ['Restart', 'RestartAllContainers'];
const maxRules = 20;
const maxCodes = 255;

/** `at` is the container. */
export function validateContainerRestart(at: Field, container: DeepReadonly<Container>): void {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  if (policy !== undefined) at.child('restartPolicy').oneOf(policy, policies);
  else if (rules.length > 0)
    at.child('restartPolicy').required('must specify restartPolicy when restart rules are used');
  const list = at.child('restartPolicyRules');
  if (rules.length > maxRules) list.tooMany(rules.length, maxRules);
  list.each(rules, ({ action, exitCodes }, place) => {
    place.child('action').oneOf(action, actions);
    if (exitCodes === undefined) return place.child('exitCodes').required('must be specified');
    place.child('exitCodes', 'operator').oneOf(exitCodes.operator, ['In', 'NotIn']);
    const count = exitCodes.values?.length ?? 0;
    if (count > maxCodes) place.child('exitCodes', 'values').tooMany(count, maxCodes);
  });
}

/** An init container with restart rules must have a policy. */
export function validateInitRestart(at: Field, container: DeepReadonly<Container>): void {
  if (container.restartPolicy !== undefined) return validateContainerRestart(at, container);
  if ((container.restartPolicyRules?.length ?? 0) > 0)
    at.child('restartPolicy').required('must specify restartPolicy when restart rules are used');
}

/** Errors of values are reported at the list. */
export function validateResizePolicy(
  at: Field,
  policies: DeepReadonly<Container>['resizePolicy'],
  podPolicy: string | undefined,
): void {
  const seen = new Set<string>();
  at.each(policies, ({ resourceName, restartPolicy }, place) => {
    if (seen.has(resourceName)) place.duplicate(resourceName);
    seen.add(resourceName);
    if (resourceName === '') at.required();
    else at.oneOf(resourceName, ['cpu', 'memory']);
    if (restartPolicy === '') at.required();
    else at.oneOf(restartPolicy, ['NotRequired', 'RestartContainer']);
    if (podPolicy === 'Never' && restartPolicy !== 'NotRequired')
      at.invalid(restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
  });
}

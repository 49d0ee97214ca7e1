// validatingadmissionpolicy-status-controller: reports in the status of a validating admission policy which expressions do not fit the
// schemas of its kinds. Source: pkg/controller/validatingadmissionpolicystatus.
import { ValidatingAdmissionPolicy } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { policyTypeWarnings } from '@kapstan/kubernetes';
import { type ControlLoop, loopQueue, runQueue, settledBefore } from './control-loop.ts';

const workers = 5;
const fieldManager = 'validatingadmissionpolicy-status';

export const validatingAdmissionPolicyStatusController: ControlLoop = async (context, signal) => {
  const { client, catalog } = context;
  const informer = context.informers.informer(ValidatingAdmissionPolicy);
  const { lister } = informer;
  const queue = loopQueue(context, { name: fieldManager, signal });
  const add = ({ metadata }: { readonly metadata?: { readonly name?: string } }): void =>
    queue.add(metadata?.name ?? '');
  const registration = informer.addEventHandler({ onAdd: add, onUpdate: (_, next) => add(next) });
  const reconcile = async ({ name }: { readonly name: string }): Promise<undefined> => {
    const policy = lister.find(name);
    const { generation = 0 } = policy?.metadata ?? {};
    if (policy === undefined || generation <= (policy.status?.observedGeneration ?? 0)) return;
    const expressionWarnings = [...(await policyTypeWarnings(policy, catalog))];
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    const head = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
    };
    const object = { ...head, status: { observedGeneration: generation, typeChecking } };
    await client.apply(ValidatingAdmissionPolicy, object, { fieldManager, force: true, subresource: 'status', signal });
  };
  try {
    if (!(await settledBefore(registration.whenSynced(), signal))) return;
    context.onSynced();
    await runQueue(context, { queue, reconcile, workers }, signal);
  } finally {
    await registration.close();
  }
};

// The parts of manifests for webhooks: the Service in front of the program, the port, and given certificate files. Self-made certificates
// need nothing here, because the program makes them and shares them in a Secret. Used by manifest-file.ts.
import { posix } from 'node:path';
import type { CertificateFiles, WebhookOptions } from '@kapstan/controller';
import { type ContainerPort, Service, type Volume, type VolumeMount } from '@kapstan/kinds/core/v1';
import type { CommentedObject } from '../output/yaml-text.ts';
import type { Program } from './load-program.ts';

/** The parts that the Deployment gets. */
export interface WebhookParts {
  readonly objects: readonly CommentedObject[];
  readonly ports: readonly ContainerPort[];
  readonly volumes: readonly Volume[];
  readonly mounts: readonly VolumeMount[];
  /** Comments about the parts that the user must add by hand. */
  readonly comments: readonly string[];
}

export interface WebhookPlace {
  readonly namespace: string;
  /** Labels of the pods. */
  readonly labels: Readonly<Record<string, string>>;
}

const none: WebhookParts = { objects: [], ports: [], volumes: [], mounts: [], comments: [] };
const portName = 'webhooks';

/** Throws Error when controllers declare webhooks and the options of the program do not say who serves them. */
export function requireServedWebhooks({ controllers, options, source }: Program): void {
  if (options.webhooks !== undefined || !hasHooks(controllers)) return;
  throw new Error(
    `${source}: a controller declares webhooks: export options with webhooks: { service: { name, namespace } }, or false when another program serves them`,
  );
}

/** Throws Error for a Service through which nothing would reach the program. */
export function webhookParts({ controllers, options, source }: Program, place: WebhookPlace): WebhookParts {
  const { webhooks } = options;
  if (!webhooks || !hasHooks(controllers)) return none;
  const { port = 9443, service, certificates = {} } = webhooks;
  if (service === undefined)
    return { ...none, comments: ['No Service: the webhooks have a url, under which API servers must reach the pods.'] };
  requireReachable(webhooks, place.namespace, source);
  const files = 'certFile' in certificates ? filesOf(certificates, service.name) : none;
  const isConverting = controllers.some(({ hooks }) => hooks.conversions.size > 0);
  const object = serviceOf(webhooks, { ...place, isConverting });
  return { ...files, objects: [object], ports: [{ name: portName, containerPort: port }] };
}

function hasHooks(controllers: Program['controllers']): boolean {
  return controllers.some(({ hooks }) => hooks.admission.length + hooks.conversions.size > 0);
}

function requireReachable({ port, host = '', service }: WebhookOptions, namespace: string, source: string): void {
  const where = `${source}: the options of run()`;
  if (service?.namespace !== namespace)
    throw new Error(
      `${where}: webhooks.service.namespace is ${JSON.stringify(service?.namespace)}, and the pods are in ${JSON.stringify(namespace)}; a Service only finds pods of its own namespace`,
    );
  if (!isServiceName(service.name))
    throw new Error(
      `${where}: webhooks.service.name ${JSON.stringify(service.name)}: a DNS-1035 label must consist of at most 63 lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character`,
    );
  if (port === 0) throw new Error(`${where}: webhooks.port is 0, any free port, which no Service finds; name a port`);
  if (host === 'localhost' || host === '::1' || host.startsWith('127.'))
    throw new Error(`${where}: webhooks.host is ${host}, where no Service reaches the pods; leave it out`);
}

const isServiceName = (name: string): boolean => name.length <= 63 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name);

function serviceOf(
  { service }: WebhookOptions,
  { namespace, labels, isConverting }: WebhookPlace & { readonly isConverting: boolean },
): CommentedObject {
  const { name = '', port = 443 } = service ?? {};
  const object: Service = {
    apiVersion: 'v1',
    kind: Service.kind,
    metadata: { name, namespace, labels },
    spec: {
      selector: labels,
      ports: [{ name: portName, port, targetPort: portName }],
      publishNotReadyAddresses: isConverting,
    },
  };
  const comments = isConverting
    ? ['Pods that are not ready are called, too: their caches fill only after the conversion has answered.']
    : [];
  return { object, comments };
}

/** The keys of the Secret are cert-manager's. */
function filesOf({ certFile, keyFile, caFile }: CertificateFiles, service: string): WebhookParts {
  const named = [
    ['tls.crt', certFile],
    ['tls.key', keyFile],
    ['ca.crt', caFile],
  ] as const;
  const files = named.flatMap(([key, file]) => (file === undefined ? [] : [{ key, file }]));
  const [directory = '/', ...others] = new Set(files.map(({ file }) => posix.dirname(file)));
  if (others.length > 0 || !posix.isAbsolute(directory) || directory === '/')
    return {
      ...none,
      comments: ['No volume for the certificates: their files are not in one directory of their own. Mount them.'],
    };
  const items = files.map(({ key, file }) => ({ key, path: posix.basename(file) }));
  const secretName = `${service}-webhook-tls`;
  return {
    ...none,
    volumes: [{ name: 'webhook-certificates', secret: { secretName, items } }],
    mounts: [{ name: 'webhook-certificates', mountPath: directory, readOnly: true }],
    comments: [`Somebody else must fill the Secret ${secretName}, such as cert-manager, for the Service ${service}.`],
  };
}

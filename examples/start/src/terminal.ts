// Prints one line for each event, as the API server reports it.
import { type DeepReadonly, type LogFields, type Logger, type ObjectEvent, parseTime } from '@kapstan/api';
import type { Client } from '@kapstan/client';
import { Foo } from '@kapstan/example-sample-controller';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Event } from '@kapstan/kinds/core/v1';
import { filter, Subscription, tap } from 'rxjs';

export function say(what: string, text: string): void {
  console.log(`${what.padEnd(14)} ${text}`);
}

/** Shows only warnings and errors; the events show everything else. */
export const consoleLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, fields) => say('warning', `${message} ${textOf(fields ?? {})}`),
  error: (message, fields) => {
    // The second of two consecutive syncs saw an older Foo in the cache; the queue repeats it a moment later.
    if (fields?.reason === 'Conflict') say('retry', `${fields.key}: ${(fields.error as Error).message}`);
    else say('error', `${message} ${textOf(fields ?? {})}`);
  },
};

/** Formats fields; an Error would be {} in JSON, so its message is shown. */
function textOf(fields: LogFields): string {
  return JSON.stringify(fields, (_name, value) => (value instanceof Error ? value.message : value));
}

/**
 * Follows Foos, Deployments and their Events until the returned function is called. Objects older than `sinceMs` are shown as found, not
 * created.
 */
export function narrate(client: Client, sinceMs: number): () => void {
  const isFound = (event: ObjectEvent<Foo | Deployment | Event>): boolean =>
    event.type === 'ADDED' && parseTime(event.object.metadata?.creationTimestamp ?? '') < sinceMs - 1000;
  const all = new Subscription();
  all.add(follow(client, Foo, (event) => tellFoo(isFound(event) ? { ...event, type: 'FOUND' } : event)));
  all.add(follow(client, Deployment, (event) => tellDeployment(isFound(event) ? { ...event, type: 'FOUND' } : event)));
  all.add(follow(client, Event, (event) => isFound(event) || tellEvent(event)));
  return () => all.unsubscribe();
}

function follow<T extends Foo | Deployment | Event>(
  client: Client,
  resource: Parameters<typeof client.watch<T>>[0],
  tell: (event: ObjectEvent<T>) => void,
): Subscription {
  return client
    .watch(resource, {})
    .pipe(
      filter((event) => event.type !== 'BOOKMARK'),
      tap(tell),
    )
    .subscribe({
      error: (error: unknown) => say('warning', `the ${resource.plural} cannot be followed: ${String(error)}`),
    });
}

const words = { FOUND: 'found', ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const;

function tellFoo({ type, object }: { readonly type: keyof typeof words; readonly object: DeepReadonly<Foo> }): void {
  const { replicas } = object.spec ?? {};
  say(
    `Foo ${words[type]}`,
    `${object.metadata?.name}: ${replicas} replicas wanted, ${object.status?.availableReplicas ?? 0} available`,
  );
}

function tellDeployment({
  type,
  object,
}: {
  readonly type: keyof typeof words;
  readonly object: DeepReadonly<Deployment>;
}): void {
  const { replicas = 0, availableReplicas = 0 } = object.status ?? {};
  say(
    '  Deployment',
    `${object.metadata?.name} ${words[type]}: ${object.spec?.replicas} wanted, ${replicas} there, ${availableReplicas} available`,
  );
}

function tellEvent({ object }: { readonly object: DeepReadonly<Event> }): void {
  say(
    '    Event',
    `${object.involvedObject?.kind} ${object.involvedObject?.name}: ${object.reason}: ${object.message} (×${object.count ?? 1})`,
  );
}

// FlowSchemaStatuses writes the condition Dangling of flow schemas: whether the priority level that they name exists. Called by the control
// plane after each change. Source: apf_controller.go presyncFlowSchemaStatus, digestConfigObjects.
import { type Clock, type DeepReadonly, formatTime, isNotFound, type ResourceClient } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import { FlowSchema, type FlowSchemaCondition } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { FlowControlObjects } from './flow-control-objects.ts';

const fieldManager = 'api-priority-and-fairness-config-consumer-v1';
/** Servers that disagree about a schema would otherwise overwrite each other forever. */
const maxWritesPerMinute = 6;
const minuteMs = 60_000;
const writesAtOnce = 32;

export interface FlowSchemaStatusPorts {
  readonly client: ResourceClient;
  readonly objects: FlowControlObjects;
  readonly clock: Clock;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

/** Writes the conditions of FlowSchemas. */
export class FlowSchemaStatuses {
  readonly #ports: FlowSchemaStatusPorts;
  /** Times of the latest writes, by the name of the schema. */
  readonly #writes = new Map<string, readonly number[]>();

  constructor(ports: FlowSchemaStatusPorts) {
    this.#ports = ports;
  }

  /**
   * Writes the conditions that are not as they should be. Resolves to the milliseconds after which to call again, because some schema was
   * written too often; undefined when all is done. Rejects with the first failure after trying all.
   */
  async sync(): Promise<number | undefined> {
    const { clock, objects, random } = this.#ports;
    const nowMs = clock.monotonicNow();
    this.#forgetOld(nowMs);
    const wrong = [...objects.schemas].filter((schema) => !isRight(schema, this.#wanted(schema)));
    const [due, early] = [
      wrong.filter((schema) => this.#mayWrite(schema)),
      wrong.filter((schema) => !this.#mayWrite(schema)),
    ];
    const results: PromiseSettledResult<void>[] = [];
    for (let begun = 0; begun < due.length; begun += writesAtOnce) {
      const some = due.slice(begun, begun + writesAtOnce);
      results.push(...(await Promise.allSettled(some.map((schema) => this.#write(schema, nowMs)))));
    }
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return early.length === 0 ? undefined : 1000 * (30 + Math.floor(45 * random()));
  }

  async #write(schema: DeepReadonly<FlowSchema>, nowMs: number): Promise<void> {
    const { client, clock } = this.#ports;
    const name = nameOf(schema);
    this.#writes.set(name, [...(this.#writes.get(name) ?? []), nowMs]);
    const condition = { ...this.#wanted(schema), lastTransitionTime: formatTime(clock.now()) };
    const object = {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name },
      status: { conditions: [condition] },
    } as FlowSchema;
    try {
      await client.apply(FlowSchema, object, { fieldManager, force: true, subresource: 'status' });
    } catch (error) {
      // The schema was deleted meanwhile.
      if (!isNotFound(error)) throw error;
    }
  }

  #wanted(schema: DeepReadonly<FlowSchema>): FlowSchemaCondition {
    const level = schema.spec?.priorityLevelConfiguration?.name ?? '';
    const isFound = this.#ports.objects.hasUsableLevel(level);
    const message = `This FlowSchema references the PriorityLevelConfiguration object named ${goQuote(level)} ${
      isFound ? 'and it exists' : 'but there is no such object'
    }`;
    return { type: 'Dangling', status: isFound ? 'False' : 'True', reason: isFound ? 'Found' : 'NotFound', message };
  }

  #mayWrite(schema: DeepReadonly<FlowSchema>): boolean {
    return (this.#writes.get(nameOf(schema))?.length ?? 0) < maxWritesPerMinute;
  }

  #forgetOld(nowMs: number): void {
    for (const [name, times] of this.#writes) {
      const recent = times.filter((time) => nowMs - time <= minuteMs);
      if (recent.length === 0) this.#writes.delete(name);
      else this.#writes.set(name, recent);
    }
  }
}

function isRight({ status }: DeepReadonly<FlowSchema>, wanted: FlowSchemaCondition): boolean {
  const present = status?.conditions?.find(({ type }) => type === wanted.type);
  return present?.status === wanted.status && present?.reason === wanted.reason && present?.message === wanted.message;
}

function nameOf({ metadata }: DeepReadonly<FlowSchema>): string {
  return metadata?.name ?? '';
}

import { cellsAt } from '@kapstan/apiserver/internal';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { podCells } from './pod-cells.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');

function status(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'i', imageID: '', ready: false, restartCount: 0, state, ...more };
}

function pod(podStatus: PodStatus, more: Pod = {}): Pod {
  return {
    ...more,
    metadata: { name: 'p', creationTimestamp: '2026-01-01T00:00:00Z', ...more.metadata },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], ...more.spec },
    status: podStatus,
  };
}

const running: ContainerState = { running: {} };
const exited = (exitCode: number, more: object = {}): ContainerState => ({ terminated: { exitCode, ...more } });
const sidecar: Pod = {
  spec: { containers: [{ name: 'a' }], initContainers: [{ name: 's', restartPolicy: 'Always' }, { name: 'i' }] },
};

describe('the status of a pod', () => {
  it.each<[string, Pod, readonly string[]]>([
    ['the phase', pod({ phase: 'Pending' }), ['0/2', 'Pending', '0']],
    ['the reason of the status', pod({ phase: 'Failed', reason: 'Evicted' }), ['0/2', 'Evicted', '0']],
    [
      'gated scheduling',
      pod({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
      ['0/2', 'SchedulingGated', '0'],
    ],
    [
      'running containers that are ready',
      pod({ phase: 'Running', containerStatuses: [status('a', running, { ready: true }), status('b', running)] }),
      ['1/2', 'Running', '0'],
    ],
    [
      'the first container that waits',
      pod({
        phase: 'Running',
        containerStatuses: [
          status('a', { waiting: { reason: 'CrashLoopBackOff' } }),
          status('b', { waiting: { reason: 'Other' } }),
        ],
      }),
      ['0/2', 'CrashLoopBackOff', '0'],
    ],
    ['an exit code without a reason', pod({ containerStatuses: [status('a', exited(3))] }), ['0/2', 'ExitCode:3', '0']],
    ['a signal', pod({ containerStatuses: [status('a', exited(137, { signal: 9 }))] }), ['0/2', 'Signal:9', '0']],
    [
      'completed beside a running container that is not ready',
      pod({
        containerStatuses: [status('a', exited(0, { reason: 'Completed' })), status('b', running, { ready: true })],
      }),
      ['1/2', 'NotReady', '0'],
    ],
    [
      'the init container at work',
      pod(
        { phase: 'Pending', initContainerStatuses: [status('i', running)] },
        { spec: { containers: [{ name: 'a' }], initContainers: [{ name: 'i' }] } },
      ),
      ['0/1', 'Init:0/1', '0'],
    ],
    [
      'the init container that failed',
      pod(
        { initContainerStatuses: [status('i', exited(1, { reason: 'Error' }))] },
        { spec: { containers: [{ name: 'a' }], initContainers: [{ name: 'i' }] } },
      ),
      ['0/1', 'Init:Error', '0'],
    ],
    [
      'sidecars count as containers',
      pod(
        {
          phase: 'Running',
          initContainerStatuses: [
            status('s', running, { ready: true, started: true, restartCount: 2 }),
            status('i', exited(0), { restartCount: 5 }),
          ],
          containerStatuses: [status('a', running, { ready: true, restartCount: 1 })],
        },
        sidecar,
      ),
      ['2/2', 'Running', '3'],
    ],
    [
      'restarts with the time of the last one',
      pod({
        phase: 'Running',
        containerStatuses: [
          status('a', running, {
            ready: true,
            restartCount: 2,
            lastState: { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:58:00Z' } },
          }),
        ],
      }),
      ['1/2', 'Running', '2 (2m ago)'],
    ],
    [
      'termination',
      pod({ phase: 'Running' }, { metadata: { deletionTimestamp: '2026-01-01T00:59:00Z' } }),
      ['0/2', 'Terminating', '0'],
    ],
    [
      'a lost node',
      pod({ phase: 'Running', reason: 'NodeLost' }, { metadata: { deletionTimestamp: '2026-01-01T00:59:00Z' } }),
      ['0/2', 'Unknown', '0'],
    ],
    [
      'finished pods that are deleted',
      pod({ phase: 'Succeeded' }, { metadata: { deletionTimestamp: '2026-01-01T00:59:00Z' } }),
      ['0/2', 'Succeeded', '0'],
    ],
  ])('shows %s', (_name, object, expected) => {
    expect(cellsAt(podCells(object), nowMs).slice(1, 4)).toEqual(expected);
  });

  it('shows address, node and readiness gates in the wide columns', () => {
    const object = pod(
      { podIPs: [{ ip: '10.0.0.1' }], nominatedNodeName: 'm', conditions: [{ type: 'example.com/a', status: 'True' }] },
      {
        spec: {
          containers: [],
          nodeName: 'n',
          readinessGates: [{ conditionType: 'example.com/a' }, { conditionType: 'example.com/b' }],
        },
      },
    );
    expect(cellsAt(podCells(object), nowMs).slice(4)).toEqual(['60m', '10.0.0.1', 'n', 'm', '1/2']);
  });
});

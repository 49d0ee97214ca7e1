// The pods of examples/shared-informers, as kubectl sees them.
import { silentLogger, systemClock } from '@kapstan/api';
import { runSharedInformers } from '@kapstan/example-shared-informers';
import { Pod } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { filter, firstValueFrom, map } from 'rxjs';
import { expect, it } from 'vitest';

it('a pod that runs has its containers, addresses and a READY of 2/2', async () => {
  const cluster = await testCluster({
    clock: 'real',
    controlPlane: { admission: { enabled: [], disabled: ['ServiceAccount'] } },
  });
  const client = await cluster.connect();
  const stop = new AbortController();
  const running = runSharedInformers(client, { signal: stop.signal, clock: systemClock, logger: silentLogger });
  await client.create(Pod, {
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      containers: [
        { name: 'web', image: 'registry:5000/nginx:1.29' },
        { name: 'log', image: 'busybox' },
      ],
    },
  });
  const pods = client.listerWatcher(Pod).watch({});
  const states = pods.pipe(map((event) => (event.type === 'BOOKMARK' ? undefined : event.object.status)));
  const status = await firstValueFrom(states.pipe(filter((state) => state?.phase === 'Running')));
  expect(status?.podIPs).toEqual([{ ip: status?.podIP }]);
  expect(status?.podIP).toMatch(/^10\.244\.\d+\.\d+$/);
  expect(status?.containerStatuses).toEqual(
    [
      ['web', 'registry:5000/nginx:1.29', 'registry:5000/nginx'],
      ['log', 'busybox', 'busybox'],
    ].map(([name, image, repository]) => ({
      name,
      image,
      imageID: expect.stringMatching(new RegExp(`^${repository}@sha256:[0-9a-f]{64}$`)),
      containerID: expect.stringMatching(/^containerd:\/\/[0-9a-f]{64}$/),
      ready: true,
      started: true,
      restartCount: 0,
      lastState: {},
      state: { running: { startedAt: status?.startTime } },
    })),
  );
  const table = await client.raw({
    path: '/api/v1/namespaces/default/pods',
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  });
  const [row] = (JSON.parse(table.body) as { rows: { cells: unknown[] }[] }).rows;
  expect(row?.cells.slice(0, 4)).toEqual(['web', '2/2', 'Running', '0']);
  stop.abort();
  await running;
  await cluster.close();
});

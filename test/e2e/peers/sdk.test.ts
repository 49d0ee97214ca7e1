// Runs one table of SDK programs against `kapstan serve` and against a real kube-apiserver. A program must see the same
// on both; where they differ, the kube-apiserver is right. The second half needs KAPSTAN_KUBE_APISERVER, a
// kube-apiserver of 1.36, and an etcd.
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type ApiServer, apiServers } from './sdk/api-server.ts';
import { applyPrograms } from './sdk/apply-programs.ts';
import { clientPrograms } from './sdk/client-programs.ts';
import { controllerPrograms } from './sdk/controller-programs.ts';
import { discoveryPrograms } from './sdk/discovery-programs.ts';
import { informerPrograms } from './sdk/informer-programs.ts';
import { Scene } from './sdk/scene.ts';
import { subresourcePrograms } from './sdk/subresource-programs.ts';
import { watchPrograms } from './sdk/watch-programs.ts';

const programs = {
  ...clientPrograms,
  ...applyPrograms,
  ...subresourcePrograms,
  ...discoveryPrograms,
  ...watchPrograms,
  ...informerPrograms,
  ...controllerPrograms,
};

describe.each(apiServers)('the SDK against $name', ({ missing, start }) => {
  // One skipped test states the reason, instead of one for each program.
  if (missing !== undefined) {
    it('shows the same behaviour', ({ skip }) => skip(missing));
    return;
  }
  let server: ApiServer | undefined;
  beforeAll(async () => {
    server = await start();
  }, 120_000);
  afterAll(() => server?.close());

  let count = 0;
  it.each(Object.entries(programs))('%s', async (_sentence, program) => {
    await using scene = await Scene.make(server as ApiServer, `sdk-${++count}`);
    await program(scene);
  });
});

// Fixtures for the tests of the packages above.
export {
  adminToken,
  startTestServer,
  type TestRequest,
  type TestServer,
  type TestServerOptions,
  type TestStream,
} from './api-server-fixture.ts';
export { ExtensionServer } from './extension-server.ts';
export { factTypes } from './fact-types.ts';
export { type KubeletStandIn, type KubeletStandInOptions, startKubelet } from './kubelet-stand-in.ts';
export { longestTurnMs } from './longest-turn.ts';
export { selfSigned } from './self-signed.ts';
export { signedRequest } from './signed-request.ts';
export {
  configMap,
  type DefinitionChanges,
  type OpenEngine,
  refusal,
  StoreFixture,
  testContext,
  testDefinition,
  unconditionalStrategy,
} from './store-fixture.ts';
export { type IssuerKey, issuerKey, signedToken, TestIssuer } from './token-issuer.ts';
export { requestUpgrade } from './upgrade-client.ts';

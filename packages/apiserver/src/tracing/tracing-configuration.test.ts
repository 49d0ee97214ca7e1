import { describe, expect, it } from 'vitest';
import { parseTracingConfiguration } from './tracing-configuration.ts';

const head = (version = 'v1') => `apiVersion: apiserver.config.k8s.io/${version}\nkind: TracingConfiguration\n`;

describe('a tracing configuration', () => {
  it.each(['v1', 'v1beta1', 'v1alpha1'])('is read in the version %s', (version) => {
    const text = `${head(version)}endpoint: localhost:4317\nsamplingRatePerMillion: 100\n`;
    expect(parseTracingConfiguration(text)).toMatchObject({ endpoint: 'localhost:4317', samplingRatePerMillion: 100 });
  });

  it.each(['localhost:4317', 'dns:///a:1', 'unix:///run/otel.sock', 'unix-abstract:otel//x', '[::1]:4317'])(
    'takes the endpoint %s',
    (endpoint) => {
      expect(parseTracingConfiguration(`${head()}endpoint: ${JSON.stringify(endpoint)}`).endpoint).toBe(endpoint);
    },
  );

  it('needs neither endpoint nor rate', () => {
    const { endpoint, samplingRatePerMillion } = parseTracingConfiguration(head());
    expect([endpoint, samplingRatePerMillion]).toEqual([undefined, undefined]);
  });

  const invalid = 'failed to validate tracing configuration: ';
  const unread = 'failed to read tracing config: unable to decode tracing configuration data: ';
  // Texts of kube-apiserver 1.36.3.
  it.each([
    [
      'samplingRatePerMillion: -1',
      `${invalid}samplingRatePerMillion: Invalid value: -1: sampling rate must be positive`,
    ],
    [
      'samplingRatePerMillion: 1000001',
      `${invalid}samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million`,
    ],
    [
      'endpoint: "http://a:1"',
      `${invalid}endpoint: Invalid value: "http://a:1": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`,
    ],
    [
      'samplingRatePerMillion: -1\nendpoint: "http://a:1"',
      `${invalid}[samplingRatePerMillion: Invalid value: -1: sampling rate must be positive, endpoint: Invalid value: "http://a:1": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md]`,
    ],
    ['foo: 1', `${unread}strict decoding error: unknown field "foo"`],
  ])('is refused for %j', (text, message) => {
    expect(() => parseTracingConfiguration(`${head()}${text}\n`)).toThrow(message);
  });

  it('is refused in another version', () => {
    expect(() => parseTracingConfiguration(head('v2'))).toThrow(
      `${unread}no kind "TracingConfiguration" is registered for version "apiserver.config.k8s.io/v2"`,
    );
  });
});

import type { Clock } from '../../../util/clock.js';
import { TransformError } from '../transformer.js';
import { GrpcClient } from './grpc.js';
import {
  type DecryptRequest,
  decryptRequest,
  decryptResponse,
  type EncryptRequest,
  encryptRequest,
  type EncryptResponse,
  encryptResponse,
  statusRequest,
  statusResponse,
  type StatusResponse,
} from './messages.js';

/** A key provider with the KMS v2 API. All methods throw TransformError. */
export interface KmsService {
  status(): Promise<StatusResponse>;
  encrypt(request: EncryptRequest): Promise<EncryptResponse>;
  decrypt(request: DecryptRequest): Promise<Uint8Array>;
  close(): void;
}

export interface KmsServiceOptions {
  readonly endpoint: string;
  readonly timeoutMillis: number;
  readonly clock: Clock;
  readonly called: (method: string, millis: number, error: TransformError | undefined) => void;
}

/** The provider listening on `unix:///…`. */
export class GrpcKmsService implements KmsService {
  private readonly client: GrpcClient;

  constructor(private readonly options: KmsServiceOptions) {
    const path = options.endpoint.replace(/^unix:(\/\/)?/i, '');
    this.client = new GrpcClient(path.startsWith('/@') ? path.slice(1) : path, options.clock);
  }

  async status(): Promise<StatusResponse> {
    return statusResponse.decode(await this.call('Status', statusRequest.encode({})));
  }

  async encrypt(request: EncryptRequest): Promise<EncryptResponse> {
    return encryptResponse.decode(await this.call('Encrypt', encryptRequest.encode(request)));
  }

  async decrypt(request: DecryptRequest): Promise<Uint8Array> {
    return decryptResponse.decode(await this.call('Decrypt', decryptRequest.encode(request))).plaintext;
  }

  close(): void {
    this.client.close();
  }

  private async call(method: string, request: Uint8Array): Promise<Uint8Array> {
    const { clock, timeoutMillis, called } = this.options;
    const begun = clock.monotonic();
    const name = `/v2.KeyManagementService/${method}`;
    try {
      const answer = await this.client.call(name, request, timeoutMillis);
      called(name, clock.monotonic() - begun, undefined);
      return answer;
    } catch (error) {
      if (error instanceof TransformError) called(name, clock.monotonic() - begun, error);
      throw error;
    }
  }
}

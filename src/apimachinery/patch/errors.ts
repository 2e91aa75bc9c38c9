import { ApiError } from '../errors.js';

/** A patch that cannot be carried out: kube-apiserver hides what exactly is wrong with it. */
export function unprocessable(): ApiError {
  return new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

/** A failure for which kube-apiserver has no reason: 500 with the bare text. */
export function internal(message: string): ApiError {
  return new ApiError(500, '', message);
}

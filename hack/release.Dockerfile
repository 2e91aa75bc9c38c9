# The image of a release, from the layers that hack/release.sh makes. Nothing runs while it is built, so that every machine builds it for
# every architecture. (The Dockerfile beside package.json builds one from the sources.)
FROM scratch
ADD base.tar /
ADD annex.tar /
ADD data.tar /
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=16 PATH=/usr/local/bin:/usr/bin:/bin
WORKDIR /annex
USER 65532:65532
EXPOSE 6443
ENTRYPOINT ["annex"]
CMD ["serve", "--data-dir=/var/lib/annex"]

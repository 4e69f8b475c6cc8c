# docker build -t afterimage .
# docker run -p 8080:8080 -v afterimage:/data afterimage
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/afterimage . && install -d -o 65532 -g 65532 /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build /out/afterimage /afterimage
USER 65532:65532
ENV AFTERIMAGE_LISTEN=:8080 AFTERIMAGE_DATA_DIR=/data
EXPOSE 8080
VOLUME /data
# SIGTERM lets running transfers finish for ten seconds.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s CMD ["/afterimage", "healthcheck"]
ENTRYPOINT ["/afterimage"]

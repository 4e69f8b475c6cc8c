package main

import (
	"log/slog"
	"time"
)

// setting is one line of the table that reads, explains and shows the settings.
type setting struct {
	name    string
	section string
	help    string // what it is for
	accepts string // the form of a value

	fallback string // the value when none is given
	unset    string // where there is no fallback: what happens without a value

	secret bool                // never shown
	shown  func(string) string // how to show a value that may hold a secret; nil: as it is
	tuning bool                // a bad value is a warning and the fallback is used

	read func(*Config, string) error // parses the value into its place
}

// into makes a setting's read from a parser and the place of its result.
func into[T any](parse func(string) (T, error), place func(*Config) *T) func(*Config, string) error {
	return func(c *Config, text string) error {
		value, err := parse(text)
		if err == nil {
			*place(c) = value
		}
		return err
	}
}

// settings is the whole table, in the order in which people read it.
func settings() []setting {
	var all []setting
	for _, section := range []struct {
		title string
		lines []setting
	}{
		{"Server", serverSettings()},
		{"Database and storage", storeSettings()},
		{"Archive worker", workerSettings()},
		{"Fetching images", fetchSettings()},
		{"Providers", providerSettings()},
	} {
		for _, s := range section.lines {
			s.section = section.title
			all = append(all, s)
		}
	}
	return all
}

func serverSettings() []setting {
	return []setting{
		{name: "AFTERIMAGE_LISTEN", fallback: "127.0.0.1:8080", accepts: "host:port or :port",
			help: "address to serve on",
			read: into(parseListen, func(c *Config) *string { return &c.Listen })},
		{name: "AFTERIMAGE_BASE_URL", unset: "from the listen address", accepts: "http://host or https://host, no path",
			help: "the URL that people see",
			read: into(parseOrigin, func(c *Config) *string { return &c.BaseURL }), shown: redactURL},
		{name: "AFTERIMAGE_DATA_DIR", fallback: "./data", accepts: "a folder; it is made when missing",
			help: "SQLite file, images on disk, images not yet stored",
			read: into(parseText, func(c *Config) *string { return &c.DataDir })},
		{name: "AFTERIMAGE_ADMIN_USERNAME", unset: "a setup link is printed", accepts: "1 to 40 of a-z, 0-9, dot, dash, underscore",
			help: "with the password: create the administrator at start",
			read: into(parseUsername, func(c *Config) *string { return &c.AdminUsername })},
		{name: "AFTERIMAGE_ADMIN_PASSWORD", unset: "none", accepts: "8 to 256 characters", secret: true,
			help: "the administrator's password",
			read: into(parsePassword, func(c *Config) *string { return &c.AdminPassword })},
		{name: "AFTERIMAGE_IMAGE_ACCESS", fallback: "link", accepts: "link or login",
			help: "link: who has an image's URL can see it; login: only its owner, signed in or with a key",
			read: into(oneOf("link", "login"), func(c *Config) *string { return &c.ImageAccess })},
		{name: "AFTERIMAGE_TRASH_RETENTION", unset: "never", accepts: "a duration from 1h to 3650d, such as 30d or 12h",
			help: "how long an image stays in the trash before it is deleted for ever",
			read: into(days(time.Hour, 3650*24*time.Hour), func(c *Config) *time.Duration { return &c.TrashRetention })},
		{name: "AFTERIMAGE_METRICS_TOKEN", unset: "only this machine may read them", accepts: "16 to 256 characters without spaces", secret: true,
			help: "who sends it as a bearer token may read /metrics",
			read: into(parseToken, func(c *Config) *string { return &c.MetricsToken })},
		{name: "AFTERIMAGE_QUOTA_IMAGES_PER_DAY", unset: "no bound", accepts: "a whole number from 1 to 1000000",
			help: "images that one person may make or import on a day in UTC; an administrator can set another number for a person",
			read: into(quantity(map[string]int64{"": 1}, 1, 1_000_000), func(c *Config) *int64 { return &c.QuotaImages })},
		{name: "AFTERIMAGE_QUOTA_BYTES", unset: "no bound", accepts: "a size from 1MiB to 1048576GiB, such as 10GiB",
			help: "what the stored images of one person may take; an administrator can set another number for a person",
			read: into(size(1<<20, 1<<50), func(c *Config) *int64 { return &c.QuotaBytes })},
		{name: "AFTERIMAGE_CORS_ORIGINS", unset: "none", accepts: "1 to 20 of https://host, comma-separated, or *",
			help: "web sites whose scripts may use the API with a key",
			read: into(listOf(20, parseCORSOrigin), func(c *Config) *[]string { return &c.CORSOrigins })},
		{name: "AFTERIMAGE_DEFAULT_LANGUAGE", fallback: "en", accepts: "en or zh-CN",
			help: "language of pages where neither user nor browser says one",
			read: into(oneOf("en", "zh-CN"), func(c *Config) *string { return &c.Language })},
		{name: "AFTERIMAGE_WEBHOOK_ALLOW", unset: "no private address",
			accepts: "10.0.0.0/8, 192.168.1.5 or 192.168.1.5:8188, comma-separated",
			help:    "private addresses that are fine for webhooks; with a port: that port only",
			read:    into(parseText, func(c *Config) *string { return &c.WebhookAllow })},
		{name: "AFTERIMAGE_LOG_FORMAT", fallback: "text", accepts: "text or json",
			help: "form of the log on stderr",
			read: into(oneOf("text", "json"), func(c *Config) *string { return &c.LogFormat })},
		{name: "AFTERIMAGE_LOG_LEVEL", fallback: "info", accepts: "debug, info, warn or error",
			help: "the least important lines to log",
			read: into(parseLogLevel, func(c *Config) *slog.Level { return &c.LogLevel })},
	}
}

func storeSettings() []setting {
	return []setting{
		{name: "DATABASE_URL", unset: "SQLite in the data folder", accepts: "postgres://user:password@host/database",
			help: "the PostgreSQL database",
			read: into(parseDatabaseURL, func(c *Config) *string { return &c.DatabaseURL }), shown: redactURL},
		{name: "S3_BUCKET", unset: "images on disk", accepts: "the bucket's name alone",
			help: "store images in this bucket",
			read: into(parseBucket, func(c *Config) *string { return &c.S3.Bucket })},
		{name: "S3_ENDPOINT", unset: "AWS", accepts: "http://host or https://host",
			help: "a server that is not AWS",
			read: into(parseWebURL, func(c *Config) *string { return &c.S3.Endpoint }), shown: redactURL},
		{name: "S3_REGION", unset: "from the AWS environment, else us-east-1", accepts: "a region such as eu-central-1, or auto",
			help: "the bucket's region",
			read: into(parseWord, func(c *Config) *string { return &c.S3.Region })},
		{name: "S3_ACCESS_KEY_ID", unset: "from the AWS environment", accepts: "the key's id, with S3_SECRET_ACCESS_KEY",
			help: "who signs the requests",
			read: into(parseWord, func(c *Config) *string { return &c.S3.AccessKeyID })},
		{name: "S3_SECRET_ACCESS_KEY", unset: "from the AWS environment", accepts: "the key, without spaces", secret: true,
			help: "the key of S3_ACCESS_KEY_ID",
			read: into(parseWord, func(c *Config) *string { return &c.S3.SecretAccessKey })},
		{name: "S3_PREFIX", unset: "none", accepts: "folder names joined by single slashes, at most 100 characters",
			help: "put before the name of every object",
			read: into(parsePrefix, func(c *Config) *string { return &c.S3.Prefix })},
		{name: "S3_PATH_STYLE", fallback: "auto", accepts: "auto, true or false",
			help: "true: host/bucket; false: bucket.host; auto: what the server usually takes",
			read: into(oneOf("auto", "true", "false"), func(c *Config) *string { return &c.S3.PathStyle })},
		{name: "S3_PUBLIC_URL", unset: "images pass through the app", accepts: "http://host/path or https://host/path",
			help: "where anybody can read the bucket, such as a CDN: archived images are sent there",
			read: into(parsePublicURL, func(c *Config) *string { return &c.S3.PublicURL }), shown: redactURL},
	}
}

func workerSettings() []setting {
	return []setting{
		{name: "IMAGE_ARCHIVE_CONCURRENCY", fallback: "2", tuning: true, accepts: "a whole number from 1 to 1024",
			help: "images archived at once",
			read: into(wholeNumber(1, 1024), func(c *Config) *int { return &c.Archive.Concurrency })},
		{name: "IMAGE_ARCHIVE_MAX_ATTEMPTS", fallback: "3", tuning: true, accepts: "a whole number from 1 to 100",
			help: "failures of a source before an image is given up",
			read: into(wholeNumber(1, 100), func(c *Config) *int { return &c.Archive.MaxAttempts })},
		{name: "IMAGE_ARCHIVE_RETRY_DELAYS", fallback: "30s,2m,10m", tuning: true,
			accepts: "1 to 20 durations from 1s to 24h, comma-separated",
			help:    "waits between attempts; the last repeats",
			read:    into(listOf(20, duration(time.Second, 24*time.Hour)), func(c *Config) *[]time.Duration { return &c.Archive.RetryDelays })},
		{name: "IMAGE_ARCHIVE_LOCK_TTL", fallback: "10m", tuning: true, accepts: "a duration from 1s to 24h",
			help: "how long a claim holds when its instance says nothing more",
			read: into(duration(time.Second, 24*time.Hour), func(c *Config) *time.Duration { return &c.Archive.LockTTL })},
		{name: "IMAGE_ARCHIVE_POLL_INTERVAL", fallback: "15s", tuning: true, accepts: "a duration from 100ms to 1h",
			help: "how often to look for work that nobody announced",
			read: into(duration(100*time.Millisecond, time.Hour), func(c *Config) *time.Duration { return &c.Archive.PollInterval })},
		{name: "IMAGE_ARCHIVE_SWEEP_INTERVAL", fallback: "30s", tuning: true, accepts: "a duration from 100ms to 1h",
			help: "how often to rescue lost and forgotten work",
			read: into(duration(100*time.Millisecond, time.Hour), func(c *Config) *time.Duration { return &c.Archive.SweepInterval })},
	}
}

func fetchSettings() []setting {
	return []setting{
		{name: "IMAGE_ARCHIVE_MAX_BYTES", fallback: "64MiB", tuning: true, accepts: "a size from 1KiB to 4GiB, such as 64MiB",
			help: "the largest image to keep",
			read: into(size(1<<10, 4<<30), func(c *Config) *int64 { return &c.Archive.MaxBytes })},
		{name: "IMAGE_ARCHIVE_MAX_PIXELS", fallback: "100MP", tuning: true, accepts: "a number of pixels from 1MP to 10000MP",
			help: "the largest width times height to keep",
			read: into(pixels(1e6, 1e10), func(c *Config) *int64 { return &c.Archive.MaxPixels })},
		{name: "IMAGE_ARCHIVE_TIMEOUT", fallback: "5m", tuning: true, accepts: "a duration from 1s to 24h",
			help: "the longest a whole fetch may take",
			read: into(duration(time.Second, 24*time.Hour), func(c *Config) *time.Duration { return &c.Archive.Timeout })},
		{name: "IMAGE_ARCHIVE_STALL_TIMEOUT", fallback: "20s", tuning: true, accepts: "a duration from 1s to 1h",
			help: "the longest silence in the middle of a fetch",
			read: into(duration(time.Second, time.Hour), func(c *Config) *time.Duration { return &c.Archive.StallTimeout })},
		{name: "IMAGE_ARCHIVE_MIN_SPEED", fallback: "4KiB/s", tuning: true, accepts: "a speed from 1B/s to 1GiB/s, such as 4KiB/s",
			help: "a slower source is given up for now",
			read: into(speed(1, 1<<30), func(c *Config) *int64 { return &c.Archive.MinSpeed })},
		{name: "IMAGE_ARCHIVE_ALLOW", unset: "no private address",
			accepts: "10.0.0.0/8, 192.168.1.5 or 192.168.1.5:8188, comma-separated",
			help:    "private addresses that are fine as sources; with a port: that port only",
			read:    into(parseText, func(c *Config) *string { return &c.Archive.Allow })},
		{name: "IMAGE_ARCHIVE_PORTS", fallback: "80,443", tuning: true, accepts: "1 to 100 ports, comma-separated",
			help: "ports that a source may use, beside allowed ones",
			read: into(listOf(100, wholeNumber(1, 65535)), func(c *Config) *[]int { return &c.Archive.Ports })},
		{name: "IMAGE_ARCHIVE_CA_FILE", unset: "the system's", accepts: "a PEM file",
			help: "extra root certificates for sources",
			read: into(parseText, func(c *Config) *string { return &c.Archive.CAFile })},
		{name: "IMAGE_ARCHIVE_RESOLVER", unset: "the system's", accepts: "an IP address, or address:port",
			help: "DNS server for sources",
			read: into(parseResolver, func(c *Config) *string { return &c.Archive.Resolver })},
		{name: "IMAGE_ARCHIVE_PROXY", unset: "none; HTTP_PROXY and the like are ignored",
			accepts: "http://host:port, https://host:port or socks5://host:port",
			help:    "proxy for fetching sources",
			read:    into(parseProxy, func(c *Config) *string { return &c.Archive.Proxy }), shown: redactURL},
	}
}
